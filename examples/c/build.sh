#!/bin/sh
# Builds one example with nothing but a compiler: one source file, one archive, one program.
#
#   sh build.sh PREFIX NAME [FOLDER]
#
# PREFIX is where `cargo xtask install PREFIX` put the library; the program becomes FOLDER/main.
set -eu
if [ $# -lt 2 ]; then
    echo "usage: sh build.sh PREFIX NAME [FOLDER]" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
prefix=$1
name=$2
folder=${3:-.}

for schema in "$here/$name"/*.mco "$here/$name"/*.ddl; do
    if [ -e "$schema" ]; then
        "$prefix/bin/remanent" ddl c "$schema" -o "$folder"
    fi
done

if [ -e "$here/$name/main.cpp" ]; then
    set -- g++ -std=c++17 "$here/$name/main.cpp"
else
    set -- gcc -std=c11 "$here/$name/main.c"
fi
"$@" -O2 -Wall -I "$prefix/include" -I "$folder" "$prefix/lib/libremanent.a" \
    -lpthread -ldl -lm -o "$folder/main"
