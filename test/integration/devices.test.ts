import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { disagreement } from '../../src/devices/agreement.js';
import { checkPictures } from '../../src/devices/check-pictures.js';
import { cpuVariant } from '../../src/devices/variant.js';
import { EngineProbe } from '../../src/engine/engine-probe.js';
import type { Placement } from '../../src/engine/messages.js';
import type { Detection } from '../../src/heads/detection.js';
import type { HealthResponse, ModelResponse } from '../../src/http/schemas.js';
import { engineConfigFor, probeConfigFor } from '../../src/models/engine-config.js';
import type { Manifest } from '../../src/models/manifest.js';
import { BUNDLED_MODEL } from '../../src/models/package.js';
import { thisMachine } from '../../src/planning/machine.js';
import { planFor } from '../../src/planning/plan.js';
import { GREEN, solidPng } from '../helpers/pictures.js';
import { runToEnd, stubModels, TestServer } from '../helpers/server.js';

type Behaviour = Record<string, unknown>;

/** A model that pretends to run on devices which this machine may not have. */
function modelWith(devices: Record<string, Behaviour>, fp16?: Record<string, Behaviour>): string {
  const root = stubModels({ one: { devices } });
  if (fp16 !== undefined) {
    writeFileSync(join(root, 'one', 'model.fp16.onnx'), JSON.stringify({ devices: fp16 }));
  }
  return root;
}
interface Looked {
  readonly provider: string;
  readonly placement: Placement | undefined;
  readonly found: (readonly Detection[])[];
}
const SETTINGS = loadConfig({ environment: {}, flags: {} });

/** What such a machine has. */
const machineWith = (devices: string): Record<string, string> => ({ TEST_DEVICES: devices });
/**
 * Slower than any decoding, which would otherwise be what limits all of them, and measured with
 * one session and one image at a time, since that takes long.
 */
const SLUGGISH = { sleep_ms: 250 };
const ONE_BY_ONE = ['--sessions=1', '--max-batch=1'];
/** For tests that start many engines, on machines that have other things to do. */
const SLOW = 240_000;
const measured = (): Record<string, string> => ({
  SHOAL_PROFILE: 'quick',
  SHOAL_CACHE_DIR: mkdtempSync(join(tmpdir(), 'shoal-cache-')),
});

describe('a server on a machine with devices', () => {
  let server: TestServer;
  afterEach(() => server.stop());

  const start = async (
    models: string,
    devices: string,
    args: string[] = [],
    environment: Record<string, string> = {},
  ): Promise<void> => {
    server = await TestServer.start([models, ...args], { ...machineWith(devices), ...environment });
  };
  const model = (): Promise<ModelResponse> => server.json<ModelResponse>('/models/one');
  const warnings = (): string[] =>
    server.lines.filter(({ level }) => level === 'warn').map(({ msg }) => msg);
  const said = (text: string | RegExp): boolean =>
    server.lines.some(({ msg }) => msg.search(text) >= 0);

  it('serves on one that works, and says so everywhere', async () => {
    await start(modelWith({ cuda: {} }), 'cuda');
    expect(await model()).toMatchObject({
      provider: 'cuda',
      device: 'cuda',
      device_index: [0],
      precision: 'fp32',
      plan: { sessions: 1, wide_threads: 0 },
    });
    const { models } = await server.json<HealthResponse>('/health');
    expect(models[0]?.engine).toMatchObject({ provider: 'cuda', device: 'cuda:0' });
    expect(await server.metric('shoal_engine_up{model="one",provider="cuda"}')).toBe(1);
    expect(said(/^cuda:0 works .*\(cuda runs 7 of 8 nodes\)$/)).toBe(true);
    const listening = server.lines.find(({ msg }) => msg === 'listening');
    expect(listening?.['models']).toEqual([expect.stringMatching(/^one on cuda:0: 1 session/)]);
    expect((await server.post('/predict', await solidPng(GREEN))).status).toBe(200);
    expect(warnings()).toEqual([]);
  });

  it('does not wait for one that hangs', async () => {
    await start(modelWith({ cuda: { hang: true } }), 'cuda', [], { TEST_PROBE_MS: '3000' });
    expect((await model()).device).toBe('cpu');
    expect(warnings()).toEqual(['cuda:0 is not used: it gave no answer within 3 s']);
  });

  it(
    'takes the faster of two that work, and remembers what it measured',
    { timeout: SLOW },
    async () => {
      const slowCpu = stubModels({
        one: { sleep_ms: 100, devices: { cuda: SLUGGISH, webgpu: { sleep_ms: 4 } } },
      });
      const environment = measured();
      await start(slowCpu, 'cuda,webgpu', ONE_BY_ONE, environment);
      expect(await model()).toMatchObject({ provider: 'webgpu', plan: { sessions: 1 } });
      expect(said(/^serving on webgpu:0 \(webgpu:0 \d+ images\/s, .*cuda:0 \d+ images\/s/)).toBe(
        true,
      );
      await server.stop();
      await start(slowCpu, 'cuda,webgpu', ONE_BY_ONE, environment);
      expect((await model()).provider).toBe('webgpu');
      expect(said(/^measured$/)).toBe(false);
      // Only what is taken has to show again that it works.
      expect(said(/^webgpu:0 works/)).toBe(true);
      expect(said(/^cuda:0 works/)).toBe(false);
    },
  );

  it('stays with the CPU where that is faster', { timeout: SLOW }, async () => {
    await start(modelWith({ webgpu: SLUGGISH }), 'webgpu', ONE_BY_ONE, measured());
    expect((await model()).provider).toBe('stub');
    expect(said(/^serving on cpu \(cpu \d+ images\/s, webgpu:0 \d+ images\/s\)$/)).toBe(true);
    expect(said(/is not used/)).toBe(false);
  });

  it('takes all GPUs that were asked for', async () => {
    await start(modelWith({ cuda: {} }), 'cuda:0,cuda:1,cuda:2', [
      '--device=cuda',
      '--device-index=0,1',
    ]);
    expect(await model()).toMatchObject({ device: 'cuda', device_index: [0, 1] });
  });

  it('leaves a broken GPU of several out', async () => {
    const models = modelWith({ cuda: {}, 'cuda:1': { garbage: 'labels' } });
    await start(models, 'cuda:0,cuda:1,cuda:2');
    expect(await model()).toMatchObject({ device_index: [0, 2] });
    expect(warnings()).toEqual([expect.stringMatching(/^cuda:1 is not used: it disagrees/)]);
  });

  it('takes half the precision where that is faster and agrees', { timeout: SLOW }, async () => {
    const models = modelWith({ webgpu: SLUGGISH }, { webgpu: { sleep_ms: 4 } });
    await start(models, 'webgpu', ['--device=webgpu', ...ONE_BY_ONE], measured());
    expect(await model()).toMatchObject({ provider: 'webgpu', precision: 'fp16' });
  });

  it(
    'does not take half the precision where it finds other things',
    { timeout: SLOW },
    async () => {
      const models = modelWith({ webgpu: {} }, { webgpu: { garbage: 'labels' } });
      await start(models, 'webgpu', ['--device=webgpu', ...ONE_BY_ONE], measured());
      expect(await model()).toMatchObject({ precision: 'fp32' });
      expect(warnings()).toEqual([
        expect.stringMatching(/^webgpu:0 fp16 is not used: it disagrees/),
      ]);
    },
  );

  it('looks for nothing when the CPU is asked for', async () => {
    await start(modelWith({ cuda: {} }), 'cuda', ['--device=cpu']);
    expect(await model()).toMatchObject({ provider: 'stub', device: 'cpu', precision: 'fp32' });
    expect(said(/GPU|cuda/)).toBe(false);
  });

  it('says that there is no GPU where there is none', async () => {
    server = await TestServer.start([modelWith({})]);
    expect((await model()).provider).toBe('stub');
    expect(server.lines.filter(({ msg }) => msg.startsWith('no GPU found'))).toHaveLength(1);
    expect(warnings()).toEqual([]);
  });
});

describe('a server with models that a device is not good for', () => {
  const MODELS: Record<string, readonly [behaviour: Behaviour, reason: string | RegExp]> = {
    'cannot-be-loaded': [{ fail_to_load: 'no such library' }, 'no such library'],
    crashes: [{ crash: true }, 'it ended with SIGSEGV'],
    'finds-other-things': [{ garbage: 'labels' }, /it disagrees with the CPU: picture 1: /],
    'gives-no-numbers': [{ garbage: 'nan' }, /not a finite number/],
  };
  let server: TestServer;
  beforeAll(async () => {
    const stubs = Object.entries(MODELS).map(([name, [cuda]]) => [name, { devices: { cuda } }]);
    const models = stubModels(Object.fromEntries(stubs) as Record<string, Behaviour>);
    server = await TestServer.start([models], machineWith('cuda'));
  });
  afterAll(() => server.stop());

  it.each(Object.entries(MODELS))(
    'serves one that %s on the CPU, with one line about it',
    async (name, [, reason]) => {
      expect(await server.json(`/models/${name}`)).toMatchObject({
        provider: 'stub',
        device: 'cpu',
        device_index: [0],
      });
      const warnings = server.lines.filter(
        ({ level, model }) => level === 'warn' && model === name,
      );
      expect(warnings).toHaveLength(1);
      expect(warnings[0]?.msg).toMatch(/^cuda:0 is not used: /);
      expect(warnings[0]?.msg).toMatch(reason);
      const answer = await server.post(`/models/${name}/predict`, await solidPng(GREEN));
      expect(answer.status).toBe(200);
    },
  );
});

describe('a server that cannot have the device it was told to use', () => {
  it.each([
    ['is not there', {}, 'webgpu', 'device cuda cannot be used: it is not in this test'],
    ['crashes', { cuda: { crash: true } }, 'cuda', 'it ended with SIGSEGV; see shoal gpu'],
    ['finds other things', { cuda: { garbage: 'labels' } }, 'cuda', 'it disagrees with the CPU'],
  ])('does not start when it %s', async (_what, devices, machine, reason) => {
    const args = ['serve', modelWith(devices), '--port=0', '--device=cuda'];
    const { code, stderr } = await runToEnd(args, machineWith(machine));
    expect(code).toBe(1);
    expect(stderr).toContain('model "one" cannot be loaded');
    expect(stderr).toContain(reason);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  it('does not start with a GPU of a number that is not there', async () => {
    const args = ['serve', modelWith({ cuda: {} }), '--port=0', '--device=cuda'];
    const ended = await runToEnd([...args, '--device-index=0,1'], machineWith('cuda'));
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('there is no cuda:1 here');
  });

  it('does not start with a precision that the model does not have', async () => {
    const { code, stderr } = await runToEnd(
      ['serve', modelWith({ cuda: {} }), '--port=0', '--precision=fp16'],
      machineWith('cuda'),
    );
    expect(code).toBe(1);
    expect(stderr).toContain('precision fp16 needs model.fp16.onnx beside the model');
  });
});

describe('a real model that is tried', () => {
  it('says where its nodes run, and finds the same again', { timeout: SLOW }, async () => {
    const manifest = JSON.parse(
      readFileSync(join(BUNDLED_MODEL, 'shoal.json'), 'utf8'),
    ) as Manifest;
    const config = probeConfigFor(
      engineConfigFor(
        {
          package: { name: 'one', modelPath: join(BUNDLED_MODEL, 'model.onnx'), manifest },
          settings: SETTINGS,
          config: SETTINGS,
        },
        planFor(SETTINGS, thisMachine()),
        cpuVariant(SETTINGS),
      ),
    );
    const look = async (): Promise<Looked> => {
      const probe = new EngineProbe({ ...config, countsNodes: true }, 0);
      try {
        const { provider, placement } = await probe.ready();
        const found = await Promise.all(
          checkPictures().map(({ file, image }) => probe.check(file, image, 0)),
        );
        return { provider, placement, found };
      } finally {
        probe.kill();
      }
    };
    const first = await look();
    expect(first.provider).toBe('cpu');
    expect(first.placement?.nodes).toBeGreaterThan(50);
    expect(first.placement?.ofNodes).toBe(first.placement?.nodes);
    expect(first.found[0]?.[0]).toMatchObject({ label: 'cup' });
    expect(disagreement(first.found, (await look()).found)).toBeUndefined();
  });
});
