import type { Config } from '../../config/schema.js';
import { ShoalError } from '../../errors.js';
import { type SecretSettings, secretsOf } from './message.js';
import { checkTarget, parseAllow } from './target.js';

export interface WebhookPolicy {
  /** Whether a job of this owner may name this URL. @throws `webhook_refused` */
  check(url: string, owner: string): void;
}

/** @throws ConfigError when `webhook_allow` cannot be read */
export function webhookPolicy(
  config: SecretSettings & Pick<Config, 'webhook_allow'>,
): WebhookPolicy {
  const allow = parseAllow(config.webhook_allow);
  return {
    check(url, owner) {
      if (secretsOf(config, owner).length === 0) {
        throw new ShoalError('webhook_refused', 'Set webhook_secrets to sign webhooks with.');
      }
      checkTarget(url, allow);
    },
  };
}
