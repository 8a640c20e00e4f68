//! The scripted model, for manual experiments: `cargo xtask model --port 8080`.

use pitcrew_testkit::model::ModelServer;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let port = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Some(0),
        ["--port", port] => port.parse().ok(),
        _ => None,
    };
    let Some(port) = port else {
        eprintln!("usage: model [--port PORT]");
        std::process::exit(2);
    };
    match ModelServer::at_port(port) {
        Ok(server) => {
            println!("{}", server.url());
            server.wait();
        }
        Err(error) => {
            eprintln!("error: failed to open port {port} on 127.0.0.1: {error}");
            std::process::exit(1);
        }
    }
}
