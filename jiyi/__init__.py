"""What a user of Jiyi holds: the client and the command line."""
