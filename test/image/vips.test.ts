import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { assertLoadersBlocked } from '../../src/image/vips.js';

describe('assertLoadersBlocked', () => {
  it('passes with the loaders as they are set up', async () => {
    await expect(assertLoadersBlocked()).resolves.toBeUndefined();
  });

  it('notices a loader that is open', async () => {
    sharp.unblock({ operation: ['VipsForeignLoadNsgif'] });
    try {
      await expect(assertLoadersBlocked()).rejects.toThrow('GIF');
    } finally {
      sharp.block({ operation: ['VipsForeignLoadNsgif'] });
    }
  });
});
