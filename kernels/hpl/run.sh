# Runs HPL with so many processes in the folder that holds its HPL.dat: run.sh XHPL PROCESSES
rm -f hpccoutf.txt
if [ "$2" = 1 ]; then
    "$1" || exit $?
else
    mpirun --allow-run-as-root --oversubscribe --bind-to none --mca pml ob1 --mca btl self,vader -np "$2" "$1" || exit $?
fi
# HPL inside HPCC writes a file
[ ! -e hpccoutf.txt ] || cat hpccoutf.txt
