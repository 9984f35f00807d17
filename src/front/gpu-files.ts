import { existsSync, readdirSync } from 'node:fs';

/** Whether drivers of a GPU have left their files. On other systems than Linux nobody looks. */
export function hasGpuFile(): boolean {
  if (process.platform !== 'linux') return false;
  return existsSync('/dev/nvidiactl') || existsSync('/dev/kfd') || hasRenderNode();
}

function hasRenderNode(): boolean {
  try {
    return readdirSync('/dev/dri').some((name) => name.startsWith('renderD'));
  } catch {
    return false;
  }
}
