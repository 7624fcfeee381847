// Errors of requests, and what they mean in plain words.

/** An error that the server replied. `status` is 0 when there was no reply. */
export class RequestError extends Error {
  constructor(status, detail, retryAfter = null) {
    super(detail);
    this.name = "RequestError";
    this.status = status;
    this.detail = detail;
    this.retryAfter = retryAfter;
  }
}

/** The error of a response that is not OK. */
export async function errorOf(response) {
  const text = await response.text().catch(() => "");
  return new RequestError(response.status, detailOf(text), secondsOf(response.headers.get("retry-after")));
}

/** The message in the body of an error: `detail` is a text, or a list of fields with mistakes. */
export function detailOf(body) {
  let parsed;
  try {
    parsed = JSON.parse(body);
  } catch {
    return body.length <= 500 && !body.includes("<") ? body.trim() : "";
  }
  const detail = parsed?.detail ?? parsed?.error?.message ?? "";
  if (!Array.isArray(detail)) return String(detail);
  return detail.map(({ loc, msg }) => `${(loc ?? []).slice(1).join(".") || "The request"}: ${msg}`).join("; ");
}

function secondsOf(header) {
  const seconds = Number.parseInt(header ?? "", 10);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : null;
}

const MEANINGS = {
  0: "The server cannot be reached. Check that it runs and that you are connected.",
  401: "The server wants a token for this.",
  403: "The server does not allow this.",
  404: "This does not exist on the server.",
  409: "The server is doing something else with this at the moment.",
  413: "This is larger than the server accepts.",
  415: "The server does not accept this type.",
  421: "The server does not answer under this address.",
  429: "The server is busy.",
  500: "The server made an error.",
  502: "The language model cannot be reached, or its answer was not valid.",
  503: "The server cannot answer at the moment.",
  504: "This took too long.",
  507: "The server has no room left.",
};

/** A title and an explanation for the reader. */
export function inWords(error) {
  if (!(error instanceof RequestError))
    return { title: "Something went wrong on this page.", detail: String(error?.message ?? error) };
  const title =
    MEANINGS[error.status] ??
    (error.status < 500 ? "The server did not accept this." : "The server could not do this.");
  const wait = error.retryAfter ? `Try again in ${error.retryAfter}\u00a0s.` : "";
  return { title, detail: [error.detail, wait].filter(Boolean).join(" ") };
}

/** The same in one text. */
export function inOneLine(error) {
  const { title, detail } = inWords(error);
  return [title, detail].filter(Boolean).join(" ");
}
