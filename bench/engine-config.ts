import { readFileSync } from 'node:fs';
import type { Device } from '../src/config/devices.js';
import type { EngineConfig } from '../src/engine/messages.js';

const MODEL = 'models/ssdlite-mobilenet-v2';
export const MODEL_FILES = { fp32: 'model.onnx', fp16: 'model.fp16.onnx' } as const;
export type ModelPrecision = keyof typeof MODEL_FILES;

export interface Loop {
  readonly device: Device;
  readonly cacheFolder: string;
  readonly precision: ModelPrecision;
  readonly sessions: number;
  readonly threads: number;
  readonly maxBatch: number;
}

export function modelPath(root: string, precision: ModelPrecision): string {
  return `${root}/${MODEL}/${MODEL_FILES[precision]}`;
}

/** The bundled model for a loop without a server around it. */
export function engineConfig(root: string, loop: Loop): EngineConfig {
  const { device, cacheFolder, precision, sessions, threads, maxBatch } = loop;
  const manifest = JSON.parse(readFileSync(`${root}/${MODEL}/shoal.json`, 'utf8')) as {
    readonly labels: string[];
    readonly input: EngineConfig['input'];
  };
  return {
    modelPath: modelPath(root, precision),
    runtime: 'onnx',
    device,
    cacheFolder,
    buckets: [],
    isPipelined: false,
    countsNodes: false,
    head: 'ssd',
    labels: manifest.labels,
    input: manifest.input,
    plan: { sessions, threads, maxBatch, wideThreads: 0 },
    curve: [],
    wideCurve: [],
    warmBatches: [1],
    warmUpMs: 2000,
    decodeLanes: 0,
    batching: 'off',
    windowMs: 0,
    maxItems: 1,
    maxPixels: 1e9,
    maxDecodeBytes: 1e9,
    hangTimeoutMs: 1e6,
  };
}
