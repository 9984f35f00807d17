export const BENCH_HELP = `Usage: shoal bench [url] [options]

Sends photos to a server at given rates and reports what came back. The load is open: requests are
sent at their times whether or not earlier ones were answered, as independent clients do, and
latency counts from those times. [url] is where the server listens. Default: http://127.0.0.1:8000.

What to measure (default: --find-capacity):
  --rate <n>
      Requests per second.
  --rates <n,n,…>
      Several rates, one run each.
  --find-capacity
      Search the highest rate at which 99 % of the requests are answered 200 in time: doubling from
      10/s, then bisection to about 5 %, with short runs.
  --slo-p99-ms <ms>
      With --find-capacity: the 99th percentile of latency must not exceed this, either.

Load:
  --seconds <n>
      How long each run takes. Default: 10; with --find-capacity 4.
  --arrivals <poisson|steady>
      At random, as from many clients, or evenly spaced. Default: poisson.
  --timeout-ms <ms>
      Clients hang up after this. Default: 1000.
  --retry-share <0 to 1>
      The share of refused clients that come back once, when Retry-After says. Default: 0.
  --connections <n>
      Open connections; requests that would need more are not sent but counted. Default: 1024.
  --seed <n>
      For the random arrivals; the same seed sends at the same times. Default: 1.

Requests:
  --image <file>
      A photo to send; repeat it for several, which take turns. Default: the bundled examples.
  --form <json|raw>
      JSON with base64, or the bytes of the file. Default: json.
  --model <name>
      Ask this model instead of the default one.
  --api-key <key>
      For servers that want one.

Output:
  --json <file|->
      Write all results as JSON, too; with - they go to standard output and nothing else does.
  --help
      Print this.

Ctrl-C ends early, with the results so far.`;
