// Does not compile: the module exports nothing of qio::detail.
import qio;

int main() { return qio::detail::max_offset == 0; }
