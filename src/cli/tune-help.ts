export const TUNE_HELP = `Usage: shoal tune [model] [options]

Searches the best plan for a model on this machine: sessions, threads per session and the largest
batch. It serves the model with each of them in turn, sends photos to it as fast as they are
answered, and measures the best four again. It also measures the server without any configuration,
and says how near that comes. [model] is as for shoal serve. Settings from the environment and from
a config file do not count. Nothing else should run meanwhile; it takes some minutes, and longer on
a GPU, where every batch size has to be prepared.

What is best (default: the highest throughput):
  --target-p99-ms <ms>
      The highest throughput of plans whose 99th percentile of latency does not exceed this while
      independent clients come at 70 % of what the plan can do.
  --rate <n>
      With --target-p99-ms: they come at this rate, in requests per second.

Search:
  --device <auto|cpu|cuda|tensorrt|webgpu|coreml|dml>
      What to run on. Default: auto, whatever the server takes by itself.
  --cache-dir <folder>
      Where shoal gpu install has put its libraries. Default: as for shoal serve. Measurements that
      are kept there do not count.
  --max-batch <n>
      The largest batch to try. Default: 128, and less where throughput stops growing.
  --windows <ms,ms,…>
      Try fixed batching with these windows, too. Default: none, only adaptive batching.
  --seconds <n>
      How long a run of the final rounds takes. Default: 5.
  --rounds <n>
      Final rounds; medians decide. Default: 3.

Requests:
  --image <file>
      A photo to send; repeat it for several, which take turns. Default: the bundled examples.
  --form <json|raw>
      JSON with base64, or the bytes of the file. Default: json.

Output:
  --svg <file>
      Write a plot of throughput against latency.
  --json <file|->
      Write all results as JSON, too; with - they go to standard output and nothing else does.
  --help
      Print this.

Ctrl-C ends early, with the results so far.`;
