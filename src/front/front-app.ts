import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { ByteBudget } from '../admission/byte-budget.js';
import { predictPathOf } from '../http/early-refusal.js';
import { receiveBodies } from '../http/receive-body.js';
import { predictRoutes } from '../http/routes/predict.js';
import { createShell, type ShellDependencies } from '../http/shell.js';
import type { Proxy } from './proxy.js';

interface FrontAppDependencies extends Omit<ShellDependencies, 'isInner' | 'passOn'> {
  readonly budget: ByteBudget;
  readonly proxy: Proxy;
}

/** Serves predict requests and passes on all others. */
export async function createFrontApp(dependencies: FrontAppDependencies): Promise<FastifyInstance> {
  const { config, predictor, budget, proxy } = dependencies;
  const passOn = (request: IncomingMessage, response: ServerResponse): boolean => {
    if (predictPathOf(request) !== undefined) return false;
    proxy.pass(request, response);
    return true;
  };
  const app = createShell({ ...dependencies, passOn });
  receiveBodies(app);
  predictRoutes(app, { config, predictor, budget });
  await app.ready();
  return app;
}
