const COMMON = `Of all commands:
  --url <url>
      Where the server listens. Default: http://127.0.0.1:8000.
  --api-key <key>
      For servers that want one. Jobs belong to the key that they were submitted with.
  --timeout <seconds>
      How long a request may take. Default: 30.
  --help
      Print this.`;

export const JOBS_HELP = `Usage: shoal jobs <command> [options]

Submits images to be answered later, and looks after such jobs.

Commands:
  submit <path>…     submit images or folders of them; shoal jobs submit --help says more
  list               list the newest jobs
  show <id>…         show jobs with their results
  wait <id>…         wait until they have ended, then show them; exit code 1 unless all completed
  cancel <id>…       cancel jobs; those that have ended stay as they are
  retry <id>…        queue failed, cancelled or expired jobs again
  purge              remove jobs that have ended, with their results

Of list:
  --state <state>
      Only queued, running, completed, failed, cancelled or expired ones.
  --limit <n>
      How many. Default: 20.
  --all
      All of them.
  --json
      A line of JSON for each. Also of show and wait.

Of wait:
  --patience <seconds>
      How long the server may be away, as when it restarts. Default: 60.

Of cancel and retry, instead of ids:
  --state <state>
      cancel: all queued or running ones. retry: all failed, cancelled or expired ones.

Of purge:
  --state <state,…>
      Only these: completed, failed, cancelled, expired. Default: all four.
  --yes
      Do not ask. Needed where there is no terminal.

${COMMON}

The exit code is 0 when all is well, 1 when something failed, 2 when the command is wrong.`;

export const SUBMIT_HELP = `Usage: shoal jobs submit <path>… [options]

Submits images as jobs, which the server keeps and answers when it can. A path is an image or a
folder, which is searched for .jpg, .jpeg, .png and .webp files, with all folders in it. A line of
JSON per image goes to standard output: {"file", "job", "state"}. With --wait it comes when the job
has ended, with "detections" and "inference_ms", or with a "problem".

  shoal jobs submit photos --wait --out results.jsonl

Output:
  --wait
      Follow the jobs until all have ended.
  --out <file|->
      Write the lines to this file instead; what it held is lost. Default: -, standard output.

Jobs:
  --images-per-job <n>
      Put this many images into one job. Default: 1.
  --model <name>
      Ask this model instead of the default one.
  --threshold <0 to 1>
      The least confidence of a detection. Default: 0.5.
  --priority <high|normal|low>
      Among the jobs of a model. Default: normal.
  --expires-in <seconds>
      Drop jobs that are not finished by then. Default: what the server says, usually a day.
  --webhook-url <url>
      Is called when a job has ended.

Sending:
  --concurrency <n>
      Submissions in flight, and with --wait as many jobs that are asked about. Default: 8.
  --patience <seconds>
      How long the server may be away, as when it restarts, before this gives up. Default: 60.
  --resume-key <text>
      Makes a command that was interrupted go on where it was: run it again with the same text, and
      what had arrived is not submitted a second time. Default: a random one, which is told when it
      is needed.

${COMMON}

A server that is busy or full is asked again when it says. An image that is refused or fails is
reported and does not stop the rest; the exit code is 1 then, and 2 when the command is wrong.
Ctrl-C ends this command, but not the jobs.`;
