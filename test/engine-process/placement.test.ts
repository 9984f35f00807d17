import { describe, expect, it } from 'vitest';
import { placementOf } from '../../src/engine-process/placement.js';

const node = (provider: string, op_name: string) => ({
  cat: 'Node',
  name: `${op_name}_1_kernel_time`,
  args: { provider: `${provider}ExecutionProvider`, op_name },
});
const record = (...nodes: object[]): string =>
  JSON.stringify([{ cat: 'Session', name: 'session_initialization', args: {} }, ...nodes]);

describe('placementOf', () => {
  it('counts the nodes that ran on the device', () => {
    const mixed = record(node('CUDA', 'Conv'), node('CUDA', 'Add'), node('CPU', 'TopK'));
    expect(placementOf(mixed, 'cuda')).toEqual({ nodes: 2, ofNodes: 3 });
    expect(placementOf(record(node('CPU', 'Conv')), 'cpu')).toEqual({ nodes: 1, ofNodes: 1 });
  });

  it('refuses a device that has none of the work, however many nodes it has', () => {
    const fallen = record(node('CPU', 'Conv'), node('CUDA', 'Reshape'), node('CUDA', 'Cast'));
    expect(() => placementOf(fallen, 'cuda')).toThrow("none of the model's work is done by cuda");
    expect(() => placementOf(record(node('CPU', 'Conv')), 'webgpu')).toThrow('by webgpu');
    expect(() => placementOf(record(), 'cuda')).toThrow('by cuda');
  });

  it('knows parts that were put into one node', () => {
    const fused = record(node('Tensorrt', 'TRTKernel_graph_main_0'), node('CPU', 'Gather'));
    expect(placementOf(fused, 'tensorrt')).toEqual({ nodes: 1, ofNodes: 2 });
  });

  it('lets models without heavy parts pass', () => {
    expect(placementOf(record(node('WebGpu', 'Add')), 'webgpu')).toEqual({ nodes: 1, ofNodes: 1 });
  });
});
