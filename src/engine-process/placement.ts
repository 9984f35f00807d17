import type { DeviceName } from '../config/devices.js';
import type { Placement } from '../engine/messages.js';

/** How ONNX Runtime calls its providers in what it writes about a run. */
const PROVIDERS: Readonly<Record<DeviceName, string>> = {
  cpu: 'CPUExecutionProvider',
  cuda: 'CUDAExecutionProvider',
  tensorrt: 'TensorrtExecutionProvider',
  webgpu: 'WebGpuExecutionProvider',
  coreml: 'CoreMLExecutionProvider',
  dml: 'DmlExecutionProvider',
};

/** Where a model's time goes; some providers put whole parts of a graph into one node. */
const HEAVY = /conv|matmul|gemm|attention|lstm|gru|TRTKernel|CoreML|DmlFused/i;

interface NodeEvent {
  readonly cat?: unknown;
  readonly name?: unknown;
  readonly args?: { readonly provider?: unknown; readonly op_name?: unknown };
}

/**
 * Which nodes really ran on a device, from ONNX Runtime's own record of one run. Nodes that a
 * provider cannot take go to the CPU without a word, up to all of them.
 * @throws when the device has none of the work
 */
export function placementOf(record: string, device: DeviceName): Placement {
  const events = JSON.parse(record) as readonly NodeEvent[];
  const nodes = events.filter(
    ({ cat, name, args }) =>
      cat === 'Node' && String(name).endsWith('_kernel_time') && args?.provider !== undefined,
  );
  const own = nodes.filter(({ args }) => args?.provider === PROVIDERS[device]);
  const isHeavy = ({ args }: NodeEvent): boolean => HEAVY.test(String(args?.op_name));
  const works = own.some(isHeavy) || (own.length > 0 && !nodes.some(isHeavy));
  if (!works) throw new Error(`none of the model's work is done by ${device}`);
  return { nodes: own.length, ofNodes: nodes.length };
}
