//! Tests templates in the style of well-known model families against their exact output.

use serde_json::json;

use super::*;

/// In the style of Qwen 2.5: a default system message.
const CHATML: &str = r"{%- if messages[0]['role'] == 'system' %}
    {{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }}
{%- else %}
    {{- '<|im_start|>system\nYou help.<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == 'user') or (message.role == 'system' and not loop.first) or message.role == 'assistant' %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
";

/// In the style of Llama 3.1: headers, a date, slices, optional tools.
const LLAMA: &str = r#"{{- bos_token }}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{#- The system message comes first, whatever the caller sent. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\n\n" }}
{%- if tools is not none %}
    {{- "Environment: ipython\n" }}
{%- endif %}
{{- "Today Date: " + date_string + "\n\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
"#;

/// In the style of Gemma 2: no system role.
const GEMMA_2: &str = concat!(
    r"{{ bos_token }}{% if messages[0]['role'] == 'system' %}",
    r"{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}",
    r"{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}",
    r"{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}",
    r"{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}",
    r"{% set role = message['role'] %}{% endif %}",
    r"{{ '<start_of_turn>' + role + '
' + message['content'] | trim + '<end_of_turn>
' }}{% endfor %}",
    r"{% if add_generation_prompt %}{{'<start_of_turn>model
'}}{% endif %}",
);

/// In the style of Gemma 3: the system message is part of the first user turn.
const GEMMA_3: &str = r"{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '

' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '

' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = '' -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}
    {{ '<start_of_turn>' + role + '
' + (first_user_prefix if loop.first else '') }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<start_of_image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception('Invalid content type') }}
    {%- endif -%}
    {{ '<end_of_turn>
' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model
'}}
{%- endif -%}
";

/// In the style of Mistral 7B Instruct: turns must alternate.
const MISTRAL: &str = r#"{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- set ns = namespace(index=0) %}
{%- for message in loop_messages %}
    {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
        {{- raise_exception("After the optional system message, conversation roles must alternate user/assistant") }}
    {%- endif %}
    {%- set ns.index = ns.index + 1 %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\n\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token }}
    {%- endif %}
{%- endfor %}
"#;

/// In the style of Qwen 3: a backward search, reasoning removed with Python's methods, tool calls as JSON.
const THINKING: &str = r#"{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user"
        and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role == "user" %}
        {{- '<|im_start|>user\n' + message.content + '<|im_end|>\n' }}
    {%- elif message.role == "assistant" %}
        {%- set content = message.content %}
        {%- if '</think>' in message.content %}
            {%- set content = message.content.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {{- '<|im_start|>assistant\n' + content }}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '<tool_call>\n{"name": "' }}
            {{- tool_call.name }}
            {{- '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- endif %}
{%- endif %}
"#;

fn compile(source: &str) -> ChatTemplate {
    let tokens = [("bos_token", "<s>"), ("eos_token", "</s>")];
    let tokens = tokens.map(|(name, token)| (name.to_owned(), token.to_owned())).into();
    ChatTemplate::compile(source, &tokens).unwrap_or_else(|error| panic!("{error}"))
}

fn render(source: &str, messages: serde_json::Value) -> Result<String, Error> {
    compile(source).render(messages.as_array().unwrap())
}

fn conversation() -> serde_json::Value {
    json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": " Hi "},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "Why?"}
    ])
}

#[test]
fn conversations_are_rendered_in_the_style_of_each_family() {
    for (name, template, prompt) in [
        (
            "ChatML",
            CHATML,
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n\
             <|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n",
        ),
        (
            "Llama 3",
            LLAMA,
            "<s><|start_header_id|>system<|end_header_id|>\n\nToday Date: 26 Jul 2024\n\nBe brief.<|eot_id|>\
             <|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>\
             <|start_header_id|>assistant<|end_header_id|>\n\nHello.<|eot_id|>\
             <|start_header_id|>user<|end_header_id|>\n\nWhy?<|eot_id|>\
             <|start_header_id|>assistant<|end_header_id|>\n\n",
        ),
        (
            "Gemma 3",
            GEMMA_3,
            "<s><start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n<start_of_turn>model\nHello.<end_of_turn>\n\
             <start_of_turn>user\nWhy?<end_of_turn>\n<start_of_turn>model\n",
        ),
        ("Mistral", MISTRAL, "<s>[INST]  Hi [/INST] Hello.</s>[INST] Be brief.\n\nWhy?[/INST]"),
    ] {
        assert_eq!(render(template, conversation()).unwrap(), prompt, "{name}");
    }
}

#[test]
fn without_a_system_message() {
    let question = json!([{"role": "user", "content": "Hi"}]);
    for (template, prompt) in [
        (CHATML, "<|im_start|>system\nYou help.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"),
        (GEMMA_2, "<s><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n"),
        (GEMMA_3, "<s><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n"),
        (MISTRAL, "<s>[INST] Hi[/INST]"),
    ] {
        assert_eq!(render(template, question.clone()).unwrap(), prompt);
    }
}

#[test]
fn thoughts_and_tool_calls() {
    let function = json!({"name": "find", "arguments": "{\"q\":\"a<b\",\"n\":[1,2]}"});
    let call = json!({"id": "1", "type": "function", "function": function});
    let messages = json!([
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYes.", "tool_calls": [call]},
        {"role": "user", "content": "<tool_response>x</tool_response>"}
    ]);
    assert_eq!(
        render(THINKING, messages).unwrap(),
        "<|im_start|>user\nLook.<|im_end|>\n<|im_start|>assistant\nYes.<tool_call>\n\
         {\"name\": \"find\", \"arguments\": {\"q\": \"a<b\", \"n\": [1, 2]}}\n</tool_call><|im_end|>\n\
         <|im_start|>user\n<tool_response>x</tool_response><|im_end|>\n<|im_start|>assistant\n"
    );
}

#[test]
fn a_template_may_refuse() {
    for (template, messages, reason) in [
        (GEMMA_2, conversation(), "System role not supported"),
        (MISTRAL, json!([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]), "must alternate"),
        (GEMMA_3, json!([{"role": "user", "content": 7}]), "Invalid content type"),
    ] {
        let error = render(template, messages).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn expressions_behave_as_in_python() {
    let messages = json!([{"role": "user", "content": "  a,b ", "meta": {"x": 1, "y": null}, "list": ["é", true]}]);
    for (template, written) in [
        ("{{ messages[0].content.strip() }}", "a,b"),
        ("{{ messages[0].content.split(',')[0] }}|", "  a|"),
        ("{{ messages[0].content.replace(',', ';').upper() }}|", "  A;B |"),
        ("{{ messages[0]['role'].startswith('us') and not messages[0].role.endswith('x') }}", "True"),
        ("{% for key, value in messages[0].meta.items() %}{{ key }}={{ value }};{% endfor %}", "x=1;y=None;"),
        ("{{ messages[0].get('name', 'nobody') }}{{ messages[0].get('name') is none }}", "nobodyTrue"),
        ("{{ messages[0].meta | tojson }}", r#"{"x": 1, "y": null}"#),
        ("{{ messages[0].list | tojson }}", r#"["é", true]"#),
        ("{{ messages[0].meta | tojson(indent=2) }}", "{\n  \"x\": 1,\n  \"y\": null\n}"),
        ("{{ messages[0].meta | tojson(separators=(',', ':'), ensure_ascii=False) }}", r#"{"x":1,"y":null}"#),
        ("{{ messages[-1].role }}{{ messages[0:1]|length }}", "user1"),
        ("{{ bos_token + eos_token }}{{ pad_token is defined }}", "<s></s>False"),
        ("{{ tools is none }}{{ documents is defined }}{{ enable_thinking is defined }}", "TrueTrueFalse"),
        (
            "{% for x in range(9) %}{% if x == 2 %}{% continue %}\
             {% elif x == 4 %}{% break %}{% endif %}{{ x }}{% endfor %}",
            "013",
        ),
        ("{% macro twice(x) %}{{ x }}{{ x }}{% endmacro %}{{ twice('ab') }}", "abab"),
        ("{{ messages|selectattr('role', 'equalto', 'user')|list|length }}", "1"),
        ("{{ '<&>' }}", "<&>"),
        ("a\n{% if true %}\n  b\n  {% endif %}\nc\n", "a\n  b\nc"),
        (
            "{% generation %}x{% endgeneration %}{%- generation -%} y {%- endgeneration -%} \
             {{ add_generation_prompt }}",
            "xyTrue",
        ),
        ("{%+ generation %}x{% endgeneration +%}{{ 'generation' }}{% set generation = 1 %}", "xgeneration"),
        ("{{ strftime_now('%Y')|int > 2000 }}{{ strftime_now is defined }}", "TrueTrue"),
    ] {
        assert_eq!(render(template, messages.clone()).unwrap(), written, "{template}");
    }
}

#[test]
fn a_source_that_is_not_jinja_is_refused() {
    for source in ["{% if %}", "{{ 'x' ", "{% for m in messages %}", "{% unknown %}", &"{{ (".repeat(1000)] {
        assert!(ChatTemplate::compile(source, &BTreeMap::new()).is_err(), "{source:.40}");
    }
}

#[test]
fn time_and_output_of_a_template_are_limited() {
    let messages = json!([{"role": "user", "content": "Hi"}]);
    for template in [
        "{% for a in range(9999) %}{% for b in range(9999) %}{% set c = a + b %}{% endfor %}{% endfor %}",
        "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}",
        "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
        "{% for a in range(9999) %}{{ 'a long text that is written again and again. ' * 99 }}{% endfor %}",
        "{{ 'x' * 999999999999 }}",
        "{{ range(999999999)|list }}",
        "{% include 'other' %}",
    ] {
        assert!(render(template, messages.clone()).is_err(), "{template}");
    }
}
