#!/bin/sh
# What test_wheels.sh runs in a bare Debian, in the user's home folder.
set -eu
! command -v gcc && ! command -v cc && ! command -v smpirun && ! command -v mpirun
! "$PYTHON" -c 'import socket; socket.create_connection(("127.0.0.1", 9), 1)' 2>/dev/null
begin=$(date +%s)
"$PYTHON" -m venv environment
environment/bin/pip install -q --no-index --find-links house gridval
installed=$(date +%s)
environment/bin/gridval --version
environment/bin/gridval run --scenario grid4x8 >table.txt 2>cautions.txt
first=$(date +%s)
cat table.txt
echo "from nothing to the table: $((first - begin)) s, of these $((first - installed)) s gridval"
grep -q '^cg B     structural       27.2 s     27.2 s' table.txt
environment/bin/gridval doctor
cat >own.py <<'P'
from gridval.predictor.base import Prediction
import gridval

assert Prediction(time_s=1.0).time_s == 1.0
answer = gridval.ask("platform show", scenario="grid4x2")
print("gridval.ask:", type(answer).__name__)
P
environment/bin/python own.py
environment/bin/python -m gridval.run --scenario grid4x2 --app cg --class S >/dev/null 2>&1
said=$(environment/bin/gridval run --scenario grid4x2 --program jacobi.c 2>&1) && exit 1
echo "$said"
test "$(echo "$said" | wc -l)" -eq 1
