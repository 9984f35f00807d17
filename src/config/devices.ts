/** What a model can run on. `cpu` always works; the others are tried before they are believed. */
export const DEVICES = ['cpu', 'cuda', 'tensorrt', 'webgpu', 'coreml', 'dml'] as const;
export type DeviceName = (typeof DEVICES)[number];

/** One device of this machine. */
export interface Device {
  readonly name: DeviceName;
  /** Which one, where there are several; 0 for the CPU. */
  readonly index: number;
}

/**
 * Whether every batch size costs seconds before it runs. With cuDNN a session is prepared for the
 * size that it ran last, and another size takes seconds, every time.
 */
export function isSlowToPrepare(device: DeviceName): boolean {
  return device === 'cuda' || device === 'tensorrt';
}

export const CPU: Device = { name: 'cpu', index: 0 };
