/** The sum of all series with this name, 0 when there is none yet. */
export function metricSum(text: string, name: string): number {
  return valuesOf(text, name, () => true).reduce((sum, value) => sum + value, 0);
}

/** The worst delay of an event loop, of the processes that report one. */
export function eventLoopP99Ms(text: string): number {
  const values = valuesOf(text, 'shoal_event_loop_delay_seconds', (labels) =>
    labels.includes('quantile="0.99"'),
  );
  return Math.max(0, ...values) * 1000;
}

/** Images per batch between two readings; `NaN` when none ran. */
export function meanBatch(before: string, after: string): number {
  const grown = (name: string): number => metricSum(after, name) - metricSum(before, name);
  return grown('inference_batch_size_sum') / grown('inference_batch_size_count');
}

function valuesOf(text: string, name: string, wanted: (labels: string) => boolean): number[] {
  return text.split('\n').flatMap((line) => {
    const [, series = '', labels = '', value = ''] = /^(\w+)(\{.*\})? (\S+)$/.exec(line) ?? [];
    return series === name && wanted(labels) ? [Number(value)] : [];
  });
}
