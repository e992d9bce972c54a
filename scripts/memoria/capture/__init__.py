"""Copy what the client wrote into the spool, and start the worker."""
