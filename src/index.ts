/** The public interface of the package. */
export { loadConfig, ConfigError } from './config/load.js';
export type { Config } from './config/schema.js';
export type { Detection } from './heads/detection.js';
export { type ShoalServer, startServer } from './server.js';
export { createLog } from './telemetry/log.js';
