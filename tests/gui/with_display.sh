#!/bin/sh
# with_display.sh PROGRAM [WORD...]: runs it in an X server of its own.
place=$(mktemp -d) || exit 1
Xvfb -displayfd 3 -screen 0 1400x1000x24 -nolisten tcp 3>"$place/number" 2>"$place/log" &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null; rm -r "$place"' EXIT
for try in $(seq 200); do
  [ -s "$place/number" ] && break
  sleep 0.05
done
[ -s "$place/number" ] || { cat "$place/log" >&2; echo "Xvfb did not start" >&2; exit 1; }
DISPLAY=:$(cat "$place/number") QT_QPA_PLATFORM=xcb "$@"
