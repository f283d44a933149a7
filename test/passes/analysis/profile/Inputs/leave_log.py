"""Changes a profile and is killed before SQLite moves the change from its log into the file."""
import os
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA wal_autocheckpoint = 0")
db.execute("UPDATE op SET median = 0.25")
db.commit()
os._exit(0)
