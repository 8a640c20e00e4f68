// A relay that adds the token for a suite that cannot send one. It replaces its own port by the
// server's in the `Host` and `Origin` headers, and forwards everything else unchanged.
import http from "node:http";

const [target, token] = process.argv.slice(2);
const to = new URL(target);
const relay = http.createServer((request, response) => {
  const own = String(relay.address().port);
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  for (const name of ["host", "origin"]) {
    if (headers[name]) headers[name] = headers[name].replace(`:${own}`, `:${to.port}`);
  }
  const options = { host: to.hostname, port: to.port, method: request.method, path: request.url, headers };
  const passed = http.request(options, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  passed.on("error", () => response.destroy());
  request.pipe(passed);
});
relay.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${relay.address().port}${to.pathname}`));
