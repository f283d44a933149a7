# Does a host work? Not one that is in the file $DEAD.
! grep -qx "$1" "$DEAD"
