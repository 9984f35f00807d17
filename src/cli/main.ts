#!/usr/bin/env node
/** The command `shoal`. Everything else is loaded after the version of Node.js is known to do. */
import { setFlagsFromString } from 'node:v8';

const REQUIRED = [20, 19] as const;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < REQUIRED[0] || (major === REQUIRED[0] && minor < REQUIRED[1])) {
  console.error(
    `shoal: Node.js ${REQUIRED.join('.')} or newer is needed, this is ${process.versions.node}`,
  );
  process.exit(1);
}
// Request bodies are garbage that lies outside the heap but counts towards its limit. With V8's
// default a server of 20 MB collects everything several times a second, at 1 ms per request.
setFlagsFromString('--heap-growing-percent=200');

const { runCommand } = await import('./commands.js');
await runCommand(process.argv.slice(2));
