import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { GREEN, solidPng } from '../helpers/pictures.js';
import { stubModels, TestServer, until } from '../helpers/server.js';

describe.runIf(process.platform === 'linux')('a front that cannot be started', () => {
  let server: TestServer;
  afterEach(() => server.stop());

  it('is tried again later, and the others serve', async () => {
    server = await TestServer.start([stubModels({ one: {} }), '--http-workers', '2']);
    const image = await solidPng(GREEN);
    const limitFiles = (count: number): unknown =>
      execFileSync('prlimit', ['--pid', String(server.pid), `--nofile=${String(count)}:1024`]);
    limitFiles(readdirSync(`/proc/${String(server.pid)}/fd`).length + 1);
    const [first = 0] = server.frontPids();
    process.kill(first, 'SIGKILL');
    await until(() => server.lines.some(({ reason }) => String(reason).includes('descriptors')));
    expect(server.frontPids()).toHaveLength(1);
    expect((await server.post('/predict', image)).status).toBe(200);
    limitFiles(1024);
    await until(() => server.frontPids().length === 2);
    expect((await server.post('/predict', image)).status).toBe(200);
  });
});
