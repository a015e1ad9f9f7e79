import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { promisify } from "node:util";

import { startService } from "./service.js";

const PACKAGE = new URL("../../", import.meta.url);

test("the README shows the examples as they are", async () => {
  const readme = await readFile(new URL("README.md", PACKAGE), "utf8");
  const shown = [...readme.matchAll(/```ts\n(.*?)```/gs)].map((match) => match[1]);
  const names = ["quickstart", "agent"];
  assert.deepEqual(
    shown,
    await Promise.all(names.map((name) => readFile(new URL(`examples/${name}.ts`, PACKAGE), "utf8"))),
  );
});

test("the quickstart runs, with the package as it is published", async () => {
  const service = await startService();
  try {
    const env = { ...process.env, EVERYWORD_URL: service.url };
    const program = new URL("build/examples/quickstart.js", PACKAGE).pathname;
    const { stdout } = await promisify(execFile)(process.execPath, [program], { env });
    assert.match(stdout, /I moved to Lisbon in March\./);
  } finally {
    await service.stop();
  }
});
