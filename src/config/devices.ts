/** What a model can run on. `cpu` always works; the others are tried before they are believed. */
export const DEVICES = ['cpu', 'cuda', 'tensorrt', 'webgpu', 'coreml', 'dml'] as const;
export type DeviceName = (typeof DEVICES)[number];

/** One device of this machine. */
export interface Device {
  readonly name: DeviceName;
  /** Which one, where there are several; 0 for the CPU. */
  readonly index: number;
}

export const CPU: Device = { name: 'cpu', index: 0 };
