import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeZip } from './zip-writer.js';

export interface FakeWheel {
  readonly project: string;
  readonly version: string;
  readonly requires?: readonly string[];
  readonly files: Readonly<Record<string, Buffer>>;
}

/** How the server behaves. May be changed while it runs. */
export interface IndexManners {
  /** Pages in the JSON form. Without it, it has HTML only, as many mirrors do. */
  json: boolean;
  /** Metadata beside the wheels, and announced. */
  metadata: boolean;
  ranges: boolean;
  /** Wheels get this hash in the index instead of their own. */
  wrongHash: string | undefined;
  /** `user:password` that every request must have. */
  password: string | undefined;
  /** The connection breaks after this many bytes of this wheel, this many times. */
  breakIn: string;
  breakAfter: number;
  breaks: number;
  /** Then it does not break but falls silent. */
  stalls: boolean;
}

export interface ServedRange {
  readonly file: string;
  readonly start: number;
  /** What was really sent. */
  sent: number;
}

/** A package index on this machine with small wheels, which notes what was fetched of them. */
export class FakeIndex {
  readonly manners: IndexManners;
  readonly ranges: ServedRange[] = [];
  readonly paths: string[] = [];
  readonly #wheels: readonly {
    readonly name: string;
    readonly project: string;
    readonly data: Buffer;
    readonly metadata: string;
  }[];
  readonly #server: Server;

  private constructor(wheels: readonly FakeWheel[], manners: Partial<IndexManners>) {
    this.manners = {
      json: true,
      metadata: false,
      ranges: true,
      wrongHash: undefined,
      password: undefined,
      breakIn: 'onnxruntime-gpu',
      breakAfter: 0,
      breaks: 0,
      stalls: false,
      ...manners,
    };
    this.#wheels = wheels.map(build);
    this.#server = createServer((request, response) => {
      this.#answer(request, response);
    });
  }

  static async start(
    wheels: readonly FakeWheel[],
    manners: Partial<IndexManners> = {},
  ): Promise<FakeIndex> {
    const index = new FakeIndex(wheels, manners);
    await new Promise<void>((resolve) => index.#server.listen(0, '127.0.0.1', resolve));
    return index;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    const user = this.manners.password === undefined ? '' : `${this.manners.password}@`;
    return `http://${user}127.0.0.1:${String(port)}/simple`;
  }

  /** Bytes of a wheel that were sent in answers to requests for all or the rest of it. */
  bytesSentOf(project: string): number {
    const wheel = this.#wheels.find((one) => one.project === project);
    return this.ranges
      .filter(({ file }) => file === wheel?.name)
      .reduce((sum, { sent }) => sum + sent, 0);
  }

  sizeOf(project: string): number {
    return this.#wheels.find((one) => one.project === project)?.data.length ?? 0;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    this.paths.push(path);
    const { password } = this.manners;
    const wanted = `Basic ${Buffer.from(password ?? '').toString('base64')}`;
    if (password !== undefined && request.headers.authorization !== wanted) {
      response.writeHead(401).end();
      return;
    }
    const [, top, name = ''] = path.split('/');
    if (top === 'simple') this.#page(name, request, response);
    else this.#file(name, request, response);
  }

  #page(project: string, request: IncomingMessage, response: ServerResponse): void {
    const wheels = this.#wheels.filter((wheel) => wheel.project === project);
    if (wheels.length === 0) {
      response.writeHead(404).end();
      return;
    }
    const { json, metadata, wrongHash } = this.manners;
    const hash = (data: Buffer): string =>
      wrongHash ?? createHash('sha256').update(data).digest('hex');
    if (json && request.headers.accept?.includes('json') === true) {
      const files = wheels.map(({ name, data }) => ({
        filename: name,
        url: `../../files/${name}`,
        hashes: { sha256: hash(data) },
        size: data.length,
        'core-metadata': metadata,
      }));
      response.writeHead(200, { 'content-type': 'application/vnd.pypi.simple.v1+json' });
      response.end(JSON.stringify({ meta: { 'api-version': '1.0' }, name: project, files }));
      return;
    }
    const extra = metadata ? ' data-dist-info-metadata="true"' : '';
    const links = wheels.map(
      ({ name, data }) =>
        `<a href="../../files/${name}#sha256=${hash(data)}" data-requires-python="&gt;=3"${extra}>${name}</a><br/>`,
    );
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<!DOCTYPE html><html><body><a href="/">up</a>${links.join('\n')}</body></html>`);
  }

  #file(name: string, request: IncomingMessage, response: ServerResponse): void {
    const { metadata, ranges } = this.manners;
    const described = this.#wheels.find((wheel) => `${wheel.name}.metadata` === name);
    if (described !== undefined && metadata) {
      response.writeHead(200).end(described.metadata);
      return;
    }
    const data = this.#wheels.find((wheel) => wheel.name === name)?.data;
    if (data === undefined) {
      response.writeHead(404).end();
      return;
    }
    const match = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? '');
    const [, from = '', to = ''] = match ?? [];
    const isLook = match !== null && (from === '' || to !== '');
    if (match === null || !ranges) {
      response.writeHead(200, { 'content-length': data.length });
      // Whoever wanted a look breaks off when all of it comes, and no byte of it counts.
      if (isLook) response.flushHeaders();
      else this.#send(name, data, 0, response);
      return;
    }
    const start = from === '' ? Math.max(0, data.length - Number(to)) : Number(from);
    const end = from === '' || to === '' ? data.length : Number(to) + 1;
    response.writeHead(206, {
      'content-length': end - start,
      'content-range': `bytes ${String(start)}-${String(end - 1)}/${String(data.length)}`,
    });
    if (isLook) response.end(data.subarray(start, end));
    else this.#send(name, data, start, response);
  }

  #send(file: string, data: Buffer, start: number, response: ServerResponse): void {
    const { breakIn, breakAfter, stalls } = this.manners;
    const isChosen = file.startsWith(`${breakIn.replaceAll('-', '_')}-`);
    const piece = data.subarray(start);
    if (isChosen && this.manners.breaks > 0 && piece.length > breakAfter) {
      this.manners.breaks--;
      this.ranges.push({ file, start, sent: breakAfter });
      response.write(piece.subarray(0, breakAfter), () => {
        if (!stalls) response.destroy();
      });
      return;
    }
    this.ranges.push({ file, start, sent: piece.length });
    response.end(piece);
  }
}

function build({ project, version, requires = [], files }: FakeWheel): {
  name: string;
  project: string;
  data: Buffer;
  metadata: string;
} {
  const stem = `${project.replaceAll('-', '_')}-${version}`;
  const metadata = [
    'Metadata-Version: 2.1',
    `Name: ${project}`,
    `Version: ${version}`,
    ...requires.map((line) => `Requires-Dist: ${line}`),
    '',
    '',
  ].join('\n');
  const data = writeZip([
    ...Object.entries(files).map(([name, content]) => ({ name, data: content })),
    { name: `${stem}.dist-info/METADATA`, data: Buffer.from(metadata) },
    { name: `${stem}.dist-info/licenses/License.txt`, data: Buffer.from(`terms of ${project}`) },
  ]);
  const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
  return { name: `${stem}-py3-none-manylinux_2_17_${machine}.whl`, project, data, metadata };
}
