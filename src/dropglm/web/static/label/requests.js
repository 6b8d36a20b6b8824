// Requests to the server. Addresses are relative: they start with the secret of this page.

export class ServerError extends Error {
  constructor(sentence, state) {
    super(sentence);
    this.state = state;
  }
}

async function answerOf(response) {
  const content = await response.json();
  if (!response.ok) throw new ServerError(content.error, content.state);
  return content;
}

export const ask = async (path) => answerOf(await fetch(`api/${path}`));

export const send = async (path, content) =>
  answerOf(
    await fetch(`api/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(content),
    }),
  );
