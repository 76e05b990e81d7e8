#!/usr/bin/env bash
# Installs the coding agents that the tests drive for real, each in its pinned version, outside of the repository:
#
#   scripts/agents.sh          Claude Code, Codex, the ACP adapter of Claude Code
#   scripts/agents.sh --long   and Gemini CLI, opencode, Qwen Code, the ACP adapter of Codex, which needs bubblewrap
#
# They go to $FOUNDRY_AGENTS, else to the user's cache directory, with links in its bin. What is there already is left
# alone. The last line printed is the directory. It exits with 69 where they cannot be had, because there is no npm or its
# registry cannot be reached; any other failure is a fault. The tests then run where nothing but the loopback is up:
#
#   FOUNDRY_AGENTS=$(scripts/agents.sh | tail -1) unshare -rn sh -c 'ip link set lo up; exec go test . ./internal/harness -run TestRealAgents'
set -euo pipefail

dir=${FOUNDRY_AGENTS:-${XDG_CACHE_HOME:-$HOME/.cache}/foundry/agents}
mkdir -p "$dir/bin"

if ! command -v npm >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get -qq update && apt-get -qq install -y nodejs npm; } >&2 || true # what is missing then is said below
fi
unavailable=69
command -v npm >/dev/null || { echo "npm is needed to install the agents; install Node.js 20 or newer" >&2; exit $unavailable; }

# fetch PACKAGE VERSION puts a package into the current directory. No script of it runs.
fetch() {
  local log
  log=$(npm install --no-audit --no-fund --ignore-scripts --loglevel=error "$1@$2" 2>&1) && return
  echo "$log" >&2
  if grep -qE '(ENOTFOUND|EAI_AGAIN|ECONN[A-Z]+|E[A-Z]*TIMEDOUT|ERR_SOCKET_TIMEOUT|ENETUNREACH|EHOSTUNREACH|code E(5[0-9][0-9]|403|407))' <<<"$log" ||
    ! npm view "$1" version >/dev/null 2>&1; then
    echo "the registry of npm cannot be reached" >&2
    exit $unavailable
  fi
  exit 1
}

# agent PROGRAM PACKAGE VERSION [SCRIPT]: scripts of packages do not run by themselves; SCRIPT is one of its own that has to.
agent() {
  local program=$1 package=$2 version=$3 script=${4:-}
  local at="$dir/${package//\//_}-$version"
  if [ ! -e "$at/installed" ]; then
    rm -rf "$at"
    mkdir -p "$at"
    echo '{"private": true}' >"$at/package.json"
    (cd "$at" && fetch "$package" "$version")
    [ -z "$script" ] || (cd "$at/node_modules/$package" && node "$script" >&2)
    [ -e "$at/node_modules/.bin/$program" ] || { echo "$package@$version has no program $program" >&2; exit 1; }
    touch "$at/installed"
  fi
  ln -sfn "$at/node_modules/.bin/$program" "$dir/bin/$program"
  echo "$program: $package $version"
}

agent claude @anthropic-ai/claude-code 2.1.197 install.cjs
agent codex @openai/codex 0.171.0
agent claude-agent-acp @agentclientprotocol/claude-agent-acp 0.49.0
if [ "${1:-}" = --long ]; then
  agent gemini @google/gemini-cli 0.61.0
  agent opencode opencode-ai 1.18.33 postinstall.mjs
  agent qwen @qwen-code/qwen-code 0.15.10
  agent codex-acp @zed-industries/codex-acp 0.16.0
fi
echo "$dir"
