import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../../telemetry/metrics.js';

export function metricsRoute(app: FastifyInstance, metrics: Metrics): void {
  app.route({
    method: 'GET',
    url: '/metrics',
    schema: { tags: ['health'], summary: 'Metrics for Prometheus' },
    handler: async (_request, reply) => {
      void reply.type(metrics.contentType);
      return metrics.render();
    },
  });
}
