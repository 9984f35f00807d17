import type { FastifyInstance } from 'fastify';
import { ShoalError } from '../errors.js';

/**
 * 404 for what is not there, 405 with `Allow` for what is there with another method.
 * @param hasJobs otherwise whoever asks for them is told why they are not there
 */
export function answerUnknownRoutes(app: FastifyInstance, hasJobs: boolean): void {
  const routes: { readonly pattern: RegExp; readonly method: string }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    const escaped = url.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&');
    const pattern = new RegExp(`^${escaped.replaceAll(/:\w+/g, '[^/]+').replaceAll('*', '.*')}$`);
    for (const one of [method].flat()) routes.push({ pattern, method: one });
  });
  app.setNotFoundHandler((request, reply) => {
    const [path = ''] = request.url.split('?');
    const methodsOf = (url: string): string[] =>
      routes.filter(({ pattern }) => pattern.test(url)).map(({ method }) => method);
    const methods = methodsOf(path);
    // A worker has hardly any routes.
    const hasDocs = methodsOf('/docs').length > 0;
    // A file that is not there is missing, though its folder is served.
    if (methods.length === 0 || methods.includes(request.method)) {
      if (!hasJobs && /^\/jobs(\/|$)/.test(path)) {
        throw new ShoalError('not_found', 'Jobs are switched off on this server (queue: off).');
      }
      throw new ShoalError(
        'not_found',
        `There is no such route${hasDocs ? '; see GET /docs' : ''}.`,
      );
    }
    const allowed = [...new Set(methods)].join(', ');
    void reply.header('allow', allowed);
    const more = hasDocs ? '; GET /docs says more' : '';
    throw new ShoalError('method_not_allowed', `Use ${allowed} here${more}.`);
  });
}
