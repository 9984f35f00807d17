import { describe, expect, it } from 'vitest';
import { Quarantine } from '../../src/engine/quarantine.js';
import { expectCode } from '../helpers/errors.js';

const image = (text: string): Buffer[] => [Buffer.from(text)];

describe('Quarantine', () => {
  it('refuses an image that has killed twice, in whatever pieces it comes, for a while', () => {
    let now = 0;
    const quarantine = new Quarantine(1000, () => now);
    expect(quarantine.blame(image('bad one'), 1)).toBe(false);
    quarantine.check(image('bad one'));
    expect(quarantine.blame(image('bad one'), 1)).toBe(true);
    expectCode('image_quarantined', () => {
      quarantine.check([Buffer.from('bad'), Buffer.from(' one')]);
    });
    quarantine.check(image('bad 1ne'));
    expect(quarantine.size).toBe(1);
    now = 1000;
    quarantine.check(image('bad one'));
    expect(quarantine.size).toBe(0);
  });

  it('counts both deaths of one that was tried alone', () => {
    const quarantine = new Quarantine(1000, () => 0);
    expect(quarantine.blame(image('bad'), 2)).toBe(true);
  });

  it('forgets the oldest when there are very many', () => {
    const quarantine = new Quarantine(1000, () => 0);
    for (let index = 0; index < 2000; index++) quarantine.blame(image(`bad ${String(index)}`), 2);
    expect(quarantine.size).toBe(1024);
    quarantine.check(image('bad 0'));
    expectCode('image_quarantined', () => {
      quarantine.check(image('bad 1999'));
    });
  });

  it('can be turned off', () => {
    const quarantine = new Quarantine(0, () => 0);
    expect(quarantine.blame(image('bad'), 2)).toBe(false);
    quarantine.check(image('bad'));
  });
});
