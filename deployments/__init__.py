"""The Ray Serve application: one thin class for each deployment, the graph builder, the HTTP ingress."""
