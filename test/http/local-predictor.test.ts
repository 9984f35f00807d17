import { describe, expect, it } from 'vitest';
import { LocalPredictor } from '../../src/http/local-predictor.js';
import type { ModelRegistry } from '../../src/models/registry.js';

describe('LocalPredictor', () => {
  const gate = { isCrowded: false };
  const find = (name: string | undefined): unknown =>
    name === 'there' ? { name, gate } : undefined;
  const predictor = new LocalPredictor({ find } as unknown as ModelRegistry);

  it('says which model is worth a question: a crowded one, or any where a client asks', () => {
    expect(predictor.findCrowded('there', false)).toBeUndefined();
    expect(predictor.findCrowded('there', true)).toBe('there');
    gate.isCrowded = true;
    expect(predictor.findCrowded('there', false)).toBe('there');
    expect(predictor.findCrowded('elsewhere', true)).toBeUndefined();
  });
});
