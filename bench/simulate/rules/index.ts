import type { Rule } from '../rule.js';
import { BENTOML } from './bentoml.js';
import { LITSERVE } from './litserve.js';
import { MOSEC } from './mosec.js';
import { RAY_SERVE } from './ray-serve.js';
import { ADAPTIVE, FIXED } from './shoal.js';
import { TRITON_0, TRITON_10 } from './triton.js';

/** Ours first. */
export const RULES: readonly Rule[] = [
  ADAPTIVE,
  FIXED,
  TRITON_0,
  TRITON_10,
  RAY_SERVE,
  LITSERVE,
  BENTOML,
  MOSEC,
];
