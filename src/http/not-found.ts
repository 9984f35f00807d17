import type { FastifyInstance } from 'fastify';
import { ShoalError } from '../errors.js';

/** 404 for what is not there, 405 with `Allow` for what is there with another method. */
export function answerUnknownRoutes(app: FastifyInstance): void {
  const routes: { readonly pattern: RegExp; readonly method: string }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    const escaped = url.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&');
    const pattern = new RegExp(`^${escaped.replaceAll(/:\w+/g, '[^/]+').replaceAll('*', '.*')}$`);
    for (const one of [method].flat()) routes.push({ pattern, method: one });
  });
  app.setNotFoundHandler((request, reply) => {
    const [path = ''] = request.url.split('?');
    const methods = routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
    // A file that is not there is missing, though its folder is served.
    if (methods.length === 0 || methods.includes(request.method))
      throw new ShoalError('not_found', 'There is no such route; see GET /docs.');
    const allowed = [...new Set(methods)].join(', ');
    void reply.header('allow', allowed);
    throw new ShoalError('method_not_allowed', `Use ${allowed} here; GET /docs says more.`);
  });
}
