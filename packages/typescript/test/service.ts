/** A real service on loopback, with an empty memory. */

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface Service {
  url: string;
  stop(): Promise<void>;
  /** Run a command of the command line on the same memory; give what it prints. */
  run(...args: string[]): Promise<string>;
}

/** Start `everyword serve` with the interpreter that EVERYWORD_PYTHON names. */
export async function startService(): Promise<Service> {
  const folder = await mkdtemp(join(tmpdir(), "everyword-"));
  const python = process.env["EVERYWORD_PYTHON"] ?? "python3";
  const env = { ...process.env, EVERYWORD_MEMORY: join(folder, "memory.db"), EVERYWORD_EMBEDDER: "hashing" };
  const start = (...args: string[]) =>
    spawn(python, ["-m", "everyword", ...args], { env, stdio: ["ignore", "pipe", "inherit"] });
  const service = start("serve", "--port", "0", "--no-mcp");
  const ended = new Promise<void>((resolve) => service.once("close", () => resolve()));
  for await (const line of createInterface({ input: service.stdout })) {
    const url = / at (http:\S+)/.exec(line)?.[1];
    if (url === undefined) continue;
    return {
      url: url.replace(/\/$/, ""),
      stop: async () => {
        service.kill();
        await ended;
        await rm(folder, { recursive: true });
      },
      run: async (...args) => {
        const command = start(...args);
        let printed = "";
        for await (const part of command.stdout) printed += String(part);
        return printed;
      },
    };
  }
  throw new Error("The service did not start.");
}
