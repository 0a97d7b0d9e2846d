"""The room of chapter 4, recurrent networks: what its pages alone need."""
