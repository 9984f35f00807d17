export const GPU_HELP = `Usage: shoal gpu [options]
       shoal gpu install cuda [options]
       shoal gpu uninstall cuda [options]

shoal gpu says what this machine has to run models on, and what is missing for each device. It
starts no model; shoal serve tries a device before it believes in it.

shoal gpu install cuda fetches what ONNX Runtime needs for NVIDIA GPUs into the cache folder: its
CUDA provider and NVIDIA's libraries, as Python wheels from PyPI or the index that pip is set up
for. No Python is needed, and nothing is written anywhere else. Broken off, it goes on where it
ended. The driver must be installed already. What it fetched for other versions of ONNX Runtime
stays; shoal gpu uninstall cuda removes all versions.

Options:
  --cache-dir <dir>
      Where libraries are kept. Default: as for shoal serve (SHOAL_CACHE_DIR, cache_dir).
  --json
      shoal gpu: print the findings as JSON.
  --help
      Print this.

Options of install:
  --dry-run
      Print what would be downloaded, and write nothing.
  --all
      Download libraries that the machine has already, too.
  --index-url <url>
      The package index. Default: that of pip (PIP_INDEX_URL, pip.conf), or PyPI.
  --extra-index-url <url>
      One more; repeat it for several. Default: those of pip.`;
