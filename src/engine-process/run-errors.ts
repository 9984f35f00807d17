/** What the providers of ONNX Runtime, C++ and CUDA say when there is no memory. */
const OUT_OF_MEMORY =
  /out of memory|bad[_ ]alloc|failed to allocate|allocation failed|alloc_failed|cannot allocate|ENOMEM|\bOOM\b/i;

export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && OUT_OF_MEMORY.test(error.message);
}

/** CUDA errors after which everything else in the process fails as well. */
const POISONED =
  /(?:CUDA|cuBLAS|cuDNN)(?: failure| error)? ?:? ?(?:214|220|70[029]|71\d|720|999)\b|cudaError(?:IllegalAddress|LaunchFailure|LaunchTimeout|Assert|MisalignedAddress|HardwareStackError|IllegalInstruction|ECCUncorrectable|ContextIsDestroyed|Unknown)\b/i;
/** The same in the words of drivers and libraries. */
const LOST =
  /illegal memory access|device-side assert|unspecified launch failure|misaligned address|uncorrectable ECC|(?:CUDNN|CUBLAS)_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|MAPPING_ERROR)|device (?:is |was )?lost|DXGI_ERROR_DEVICE_(?:REMOVED|HUNG|RESET)|VK_ERROR_DEVICE_LOST/i;

/**
 * Whether an error means that the device is gone, or what this process has there is damaged. Then
 * no later result can be trusted, and only a new process helps. Too little memory is not of these.
 */
export function isDeviceLost(error: unknown): boolean {
  if (!(error instanceof Error) || isOutOfMemory(error)) return false;
  return POISONED.test(error.message) || LOST.test(error.message);
}

const MAX_LINE = 200;

/** Why the engine gives up, in one line for the operator. */
export function describeEnd(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).trim().split('\n');
  const reason = line.slice(0, MAX_LINE);
  return isDeviceLost(error) ? `the device failed, a new engine is needed: ${reason}` : reason;
}
