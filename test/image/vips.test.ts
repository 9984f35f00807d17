import sharp from 'sharp';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { assertLoadersBlocked, blockLoaders, decodeWithVips } from '../../src/image/vips.js';
import { RED, solidPng } from '../helpers/pictures.js';

const GIF = Buffer.from('R0lGODlhAQABAIAAAExpcf///yH5BAUAAAAALAAAAAABAAEAAAICTAEAOw==', 'base64');
const opensGif = (): Promise<boolean> =>
  sharp(GIF)
    .metadata()
    .then(
      () => true,
      () => false,
    );

describe('the loaders of libvips', () => {
  beforeAll(() => blockLoaders());

  it('are blocked but for the wanted ones', async () => {
    await expect(assertLoadersBlocked()).resolves.toBeUndefined();
    expect(await opensGif()).toBe(false);
    const { width } = await decodeWithVips(await solidPng(RED, 3, 2), 10, 100);
    expect(width).toBe(3);
  });

  it('are noticed when one is open', async () => {
    sharp.unblock({ operation: ['VipsForeignLoadNsgif'] });
    try {
      await expect(assertLoadersBlocked()).rejects.toThrow('GIF');
    } finally {
      sharp.block({ operation: ['VipsForeignLoadNsgif'] });
    }
  });

  it('stay as they are when another thread loads the code: somebody may be reading a picture', async () => {
    sharp.unblock({ operation: ['VipsForeignLoadNsgif'] });
    vi.resetModules();
    const again = await import('../../src/image/vips.js');
    expect(again.blockLoaders).not.toBe(blockLoaders);
    expect(await opensGif()).toBe(true);
    await blockLoaders();
    expect(await opensGif()).toBe(false);
  });
});
