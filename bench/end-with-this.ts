import type { ChildProcess } from 'node:child_process';

const children = new Set<ChildProcess>();

/** Ends a child together with this process: nothing is left behind when something goes wrong. */
export function endWithThis(child: ChildProcess): void {
  if (children.size === 0) process.once('exit', endAll);
  children.add(child);
  child.once('close', () => {
    children.delete(child);
    if (children.size === 0) process.off('exit', endAll);
  });
}

function endAll(): void {
  for (const child of children) child.kill();
}
