#!/usr/bin/env bash
# Installs what the tests need beside npm packages. Does nothing when everything is there. Where it
# cannot be installed, it says which tests are skipped and still succeeds.
set -euo pipefail

# Command, Debian package, and what is not tested without it.
tools=(
  'redis-server redis-server the Redis job store'
  'strace strace a failing disk under jobs'
)

for tool in "${tools[@]}"; do
  read -r command package suites <<<"$tool"
  command -v "$command" >/dev/null && continue
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    # The service is not wanted, only the program: tests start their own.
    if (apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "$package") >/dev/null; then
      command -v "$command" >/dev/null && continue
    fi
    reason="apt-get could not install $package"
  else
    reason="that needs root and apt-get"
  fi
  echo "SKIPPED: $suites is not tested: $command is missing, and $reason" >&2
done
