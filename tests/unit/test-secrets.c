/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets of command lines: what is masked, and what only looks like one. */
#include "preload/process/secrets.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Words are separated by '|', which is a zero in a command line. Forms that scanners of public code
 * look for are put together from two texts. */
static const struct {
    const char *text, *masked;
} secret[] = {
    {"p|--token=abc", "p|--token=***"},
    {"p|--token|abc|x", "p|--token|***|x"},
    {"p|-token|abc", "p|-token|***"},
    {"p|--hf-token|abc|--epochs|3", "p|--hf-token|***|--epochs|3"},
    {"p|--password=p@ss,w rd|x", "p|--password=***|x"},
    {"p|--password|1234|x", "p|--password|***|x"},
    {"env|HF_TOKEN=abc|p", "env|HF_TOKEN=***|p"},
    {"env|HF_TOKEN_2=abc|p", "env|HF_TOKEN_2=***|p"},
    {"p|-e|WANDB_API_KEY=0123abc", "p|-e|WANDB_API_KEY=***"},
    {"p|-eHF_TOKEN=abc", "p|-eHF_TOKEN=***"},
    {"p|--env=HF_TOKEN=abc|x", "p|--env=HF_TOKEN=***|x"},
    {"p|DB_PASS=abc", "p|DB_PASS=***"},
    {"p|--openai-api-key=abcdef", "p|--openai-api-key=***"},
    {"p|--openaiApiKey|abc", "p|--openaiApiKey|***"},
    {"p|--authToken=abc", "p|--authToken=***"},
    {"p|model.api_key=abc|+logger.secret=x yz", "p|model.api_key=***|+logger.secret=***"},
    {"p|AWS_SECRET_ACCESS_KEY=abc/d+e", "p|AWS_SECRET_ACCESS_KEY=***"},
    {"p|AWS_ACCESS_KEY_ID=abc", "p|AWS_ACCESS_KEY_ID=***"},
    {"p|--client-secret|abc", "p|--client-secret|***"},
    {"p|https://me:word@h.org/x", "p|https://me:***@h.org/x"},
    {"p|postgresql://me:p@w:1@h/x?y=1", "p|postgresql://me:***@h/x?y=1"},
    {"p|--db=mysql://u:word@h:3306/d", "p|--db=mysql://u:***@h:3306/d"},
    {"p|https://0123456789abcdef0123@git.example/x", "p|https://***@git.example/x"},
    {"p|https://h/x?a=1&token=abc&b=2", "p|https://h/x?a=1&token=***&b=2"},
    {"p|https://h/x?X-Amz-Signature=abc&b=2", "p|https://h/x?X-Amz-Signature=***&b=2"},
    {"p|https://h/x?sig=abc%2b", "p|https://h/x?sig=***"},
    {"curl|-H|Authorization: Bearer abc.def|x", "curl|-H|Authorization: ***|x"},
    {"curl|-H|X-Api-Key: abc", "curl|-H|X-Api-Key: ***"},
    {"p|-c|login(token='abc', x=1)", "p|-c|login(token='***', x=1)"},
    {"p|-c|os.environ['HF_TOKEN'] = 'abc'; f()", "p|-c|os.environ['HF_TOKEN'] = '***'; f()"},
    {"p|{\"api_key\": \"a\\\"bc\", \"lr\": 1}", "p|{\"api_key\": \"***\", \"lr\": 1}"},
    {"p|"
     "hf_"
     "abcdefghijABCDEFGHIJ0123456789",
     "p|***"},
    {"p|x=sk-"
     "proj-aB3aB3aB3aB3aB3aB3aB3|y",
     "p|x=***|y"},
    {"p|gh"
     "p_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "p|***"},
    {"p|AK"
     "IAABCDEFGHIJKLMNOP",
     "p|***"},
    {"p|ey"
     "J0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UifQ.c2lnbmF0dXJl",
     "p|***"},
    {"p|--a=b:gl"
     "pat-aaaaaaaaaaaaaaaaaaaa",
     "p|--a=b:***"},
    {"worker --token abc --x", "worker --token *** --x"}, /* a title */
    {"worker --password=p,w --x", "worker --password=*** --x"},
    {"p|--token=ab", "p|--token=**"}, /* never longer */
    {"p|--token=a|--secret=bcde|--token=fghij", "p|--token=*|--secret=***|--token=***"},
};

static const char *const plain[] = {
    "python|train.py|--lr=1e-4|--epochs|3",
    "p|--max-tokens|512|--num_tokens=4096|--max-new-token|20",
    "p|--tokenizer=gpt2|--tokenizer|gpt2",
    "p|--pad-token|[PAD]|--eos_token=</s>|--bos-token=x",
    "p|--image_token=<image>|--stop-token|x|--token=<mask>",
    "p|--token-type=bpe|--token_dim=64|--tokens=5",
    "p|--use-auth-token|True|--use_auth_token=false",
    "p|--token-file|/run/x|--password-file=/run/y",
    "p|--credentials|/home/me/key.json|GOOGLE_APPLICATION_CREDENTIALS=/home/me/k",
    "apptainer|exec|--pwd|/work|python",
    "p|--n_keys=4|--key|value|--key_dim=64|--sort-key=loss",
    "p|--passes=3|--pass|forward|--forward-pass=x",
    "p|--signature|serving_default|--sigma=1.0",
    "p|s3://bucket/x@y|ssh://git@h/x|http://h:80/@x|file:///a:b@c",
    "p|https://h/x?a=1&tokens=3",
    "p|--commit=0123456789abcdef0123456789abcdef01234567",
    "p|sk-learn-estimator-of-forests|hf_hub_download_snapshot_cache",
    "p|tcp://10.0.0.1:29500|--rdzv-endpoint=h:29400",
    "p|--authors=x|--author|y|--oauth-free",
    "p|--token",
    "p|--token=",
    "p|--token|--epochs|3",
    "p|token|x",
    "p|a:b@c|user@host:path",
    "",
    "|",
    "://",
    "p|://@",
    "=|=|:",
    "--",
};

static void check_one(const char *text, const char *masked)
{
    size_t size = strlen(text);
    char *copy = malloc(size + 1); /* its own, so that a sanitizer sees each byte too many */
    ck_assert_ptr_nonnull(copy);
    for (size_t i = 0; i < size; i++)
        copy[i] = text[i] == '|' ? '\0' : text[i];
    char *exact = realloc(copy, size ? size : 1);
    size_t n = mt_mask_secrets(exact, size);
    ck_assert_uint_le(n, size);
    for (size_t i = 0; i < n; i++)
        exact[i] = exact[i] ? exact[i] : '|';
    ck_assert_msg(n == strlen(masked) && !memcmp(exact, masked, n), "%s: %.*s instead of %s", text,
                  (int)n, exact, masked);
    free(exact);
}

START_TEST(secrets_are_masked)
{
    check_one(secret[_i].text, secret[_i].masked);
    check_one(secret[_i].masked, secret[_i].masked); /* and masks stay */
}
END_TEST

START_TEST(plain_words_stay)
{
    check_one(plain[_i], plain[_i]);
}
END_TEST

START_TEST(any_bytes)
{
    static const char letters[] = "tokenTOKEN=: -|'\"@/?&\\pass_3.hf_";
    char text[200];
    unsigned state = 1;
    for (unsigned round = 0; round < 20000; round++) {
        size_t size = round % sizeof text;
        for (size_t i = 0; i < size; i++) {
            state = state * 1103515245u + 12345u;
            char c = letters[(state >> 16) % (sizeof letters - 1)];
            text[i] = c == '|' ? '\0' : c;
        }
        char *own = malloc(size ? size : 1);
        ck_assert_ptr_nonnull(own);
        memcpy(own, text, size);
        ck_assert_uint_le(mt_mask_secrets(own, size), size);
        free(own);
    }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("secrets");
    tcase_add_loop_test(tcase, secrets_are_masked, 0, (int)(sizeof secret / sizeof *secret));
    tcase_add_loop_test(tcase, plain_words_stay, 0, (int)(sizeof plain / sizeof *plain));
    tcase_add_test(tcase, any_bytes);
    return RUN_TESTS(tcase);
}
