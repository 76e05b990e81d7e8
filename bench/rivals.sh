#!/usr/bin/env bash
# Times other runners beside Foundry, those that are installed; the others are named with the reason. What is
# compared is the same for all: how long the program takes to say its version, 1,000 steps of `true` one after
# another, 1,000 independent ones eight at a time, and 200 MB that one step prints. Each figure is the quickest of some rounds, in milliseconds; x is how
# many times the floor that is. Nothing is installed, and everything is written below one temporary directory.
#
#   bench/rivals.sh          rounds: 5 for steps and logs, 20 for versions
#   ROUNDS=1 bench/rivals.sh
set -euo pipefail
export LC_ALL=C GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/foundry-rivals-XXXXXX")
trap 'rm -rf "$work"' EXIT
rounds=${ROUNDS:-5}
steps=1000
agents=(dagu kilroy tracker iterion archon fabrik) # their file formats are their own: only their start is timed

# compare KIND ROUNDS NAME...: the quickest of some rounds of the functions KIND_NAME, in turns, so that who else
# uses the machine is in the way of all alike. The first one is the floor. A runner that is not installed, or that
# fails, is said to be so.
compare() {
	local kind=$1 n=$2 name from took i
	shift 2
	local -A best=() failed=()
	for ((i = 0; i < n; i++)); do
		for name in "$@"; do
			[[ $name == floor || $name == foundry ]] || have "$name" || continue
			[[ -z ${failed[$name]:-} ]] || continue
			from=${EPOCHREALTIME/./}
			if ! "${kind}_$name" "$name" >"$work/out" 2>"$work/err" </dev/null; then
				failed[$name]=$(tail -n 1 "$work/err" | cut -c 1-90)
				continue
			fi
			took=$((${EPOCHREALTIME/./} - from))
			[[ -n ${best[$name]:-} && ${best[$name]} -le $took ]] || best[$name]=$took
		done
	done
	for name in "$@"; do
		if [[ -n ${failed[$name]:-} ]]; then
			printf '  %-10s failed: %s\n' "$name" "${failed[$name]}"
		elif [[ -z ${best[$name]:-} ]]; then
			printf '  %-10s not installed\n' "$name"
		else
			awk -v n="$name" -v t="${best[$name]}" -v f="${best[$1]}" 'BEGIN { printf "  %-10s %9.1f  x %.1f\n", n, t / 1000, t / f }'
		fi
	done
}

have() { command -v "$1" >/dev/null 2>&1; }

# repository DIR makes a git repository of what is in a directory.
repository() {
	git -C "$1" init -q -b main
	git -C "$1" add -A
	git -C "$1" -c user.name=bench -c user.email=bench@example.com commit -q -m files
}

inputs() {
	mkdir "$work"/{steps,wide,log,foundry-steps,foundry-wide,foundry-log}
	local s="$work/steps" w="$work/wide" l="$work/log" i true
	true=$(type -P true)
	head -c 200000000 < <(yes 'ok  	foundry/internal/process	0.012s	coverage: 91.2% of statements') >"$work/lines"

	{
		echo "all: s$((steps - 1))"
		echo "s0:; true"
		for ((i = 1; i < steps; i++)); do echo "s$i: s$((i - 1)); true"; done
	} >"$s/Makefile"
	printf 'all:\n\tcat %s\n' "$work/lines" >"$l/Makefile"

	{
		printf 'rule step\n  command = true\nbuild s0: step\n'
		for ((i = 1; i < steps; i++)); do echo "build s$i: step s$((i - 1))"; done
		echo "default s$((steps - 1))"
	} >"$s/build.ninja"
	printf 'rule step\n  command = cat %s\nbuild s0: step\n' "$work/lines" >"$l/build.ninja"

	{
		echo "all:"
		for ((i = 0; i < steps; i++)); do echo "  true"; done
	} >"$s/justfile"
	printf 'all:\n  cat %s\n' "$work/lines" >"$l/justfile"

	{
		printf "version: '3'\nsilent: true\ntasks:\n  all:\n    cmds:\n"
		for ((i = 0; i < steps; i++)); do echo "      - 'true'"; done
	} >"$s/Taskfile.yml"
	printf "version: '3'\ntasks:\n  all:\n    cmds: ['cat %s']\n" "$work/lines" >"$l/Taskfile.yml"

	{
		echo ".PHONY: all $(echo s{1..1000})"
		echo "all: $(echo s{1..1000})"
		for ((i = 1; i <= steps; i++)); do echo "s$i:; $true"; done
	} >"$w/Makefile"
	{
		printf 'rule step\n  command = %s\n' "$true"
		for ((i = 0; i < steps; i++)); do echo "build s$i: step"; done
	} >"$w/build.ninja"

	local head='version: 1\nproject: {merge: never, keep: {log: 1GB}}\npipelines:\n  p:\n    request: none\n    phases:\n'
	{
		printf "$head"
		for ((i = 0; i < steps; i++)); do echo "      - {id: s$i, run: \"true\"}"; done
	} >"$work/foundry-steps/foundry.yaml"
	{
		printf "$head"
		for ((i = 0; i < steps; i++)); do echo "      - {id: s$i, needs: [], run: $true}"; done
	} >"$work/foundry-wide/foundry.yaml"
	{
		printf "$head"
		printf '      - {id: s0, run: "cat %s"}\n' "$work/lines"
	} >"$work/foundry-log/foundry.yaml"
	repository "$work/foundry-steps"
	repository "$work/foundry-wide"
	repository "$work/foundry-log"
}

version_floor() { "$work/hello"; }
version_foundry() { "$foundry" version; }
version_any() { "$1" --version || "$1" version; }
for name in make ninja just task "${agents[@]}"; do
	eval "version_$name() { version_any $name; }"
done

steps_floor() {
	local i true
	true=$(type -P true)
	for ((i = 0; i < steps; i++)); do "$true"; done
}
steps_foundry() { "$foundry" -C "$work/foundry-steps" up p --output json; }
steps_make() { make -s -C "$work/steps"; }
steps_ninja() { ninja -C "$work/steps" -j 1; }
steps_just() { just -q -d "$work/steps" -f "$work/steps/justfile"; }
steps_task() { task -d "$work/steps" all; }

wide_floor() { seq "$steps" | xargs -P 8 -n 1 "$(type -P true)"; }
wide_foundry() { "$foundry" -C "$work/foundry-wide" up p -j 8 --output json; }
wide_make() { make -s -C "$work/wide" -j 8; }
wide_ninja() { ninja -C "$work/wide" -j 8; }

log_floor() { cat "$work/lines"; }
log_foundry() {
	rm -rf "$work/foundry-log/.foundry/runs" # or the logs of all rounds fill the disk
	"$foundry" -C "$work/foundry-log" up p
}
log_make() { make -s -C "$work/log"; }
log_ninja() { ninja -C "$work/log"; }
log_just() { just -q -d "$work/log" -f "$work/log/justfile"; }
log_task() { task -s -d "$work/log" all; }

echo "building foundry ..." >&2
foundry="$work/foundry"
(cd "$top" && go build -buildvcs=false -o "$foundry" .)
printf 'package main\n\nimport "os"\n\nfunc main() { os.Stdout.WriteString("hello, world\\n") }\n' >"$work/hello.go"
go build -o "$work/hello" "$work/hello.go"
inputs

echo "version (floor: a Go program that writes a line)"
compare version 20 floor foundry make ninja just task "${agents[@]}"
echo
echo "$steps steps of true (floor: this shell executing it as often; foundry: in a worktree, with its journal)"
compare steps "$rounds" floor foundry make ninja just task
echo
echo "$steps independent steps of the program true, eight at a time (floor: xargs -P 8)"
compare wide "$rounds" floor foundry make ninja
echo
echo "200 MB printed by one step, standard output to a file (floor: cat; foundry: into a log that it keeps)"
compare log "$rounds" floor foundry make ninja just task
