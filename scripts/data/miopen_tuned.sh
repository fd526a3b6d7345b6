# Sourced by the scripts that learn from MIOpen's tuned databases.

# Imports the databases into WORK/tuned with the program of WORK or the one that $seqtune names, unless that was done; WORK/import.txt has what was read.
import_tuned() { # WORK FOLDER [OPTION...]    FOLDER: of the databases
    local work=$1 databases=$2
    shift 2
    [ ! -e "$work/import.txt" ] || return 0
    # what an interrupted import left
    rm -rf "$work/tuned"
    "${seqtune:-$work/seqtune}" import miopen "$databases"/{gfx906_60,gfx900_56,gfx1030_36}.db.bz2 "$databases"/gfx942130_2024-12.db.txt.bz2 \
        "$@" -o "$work/tuned" > "$work/import.part"
    mv "$work/import.part" "$work/import.txt"
}
