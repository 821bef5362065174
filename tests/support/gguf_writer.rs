//! Writes GGUF files for tests: any header, also a wrong one, and whole tiny models of random weights.
//!
//! It is written from the format's description and shares no code with the reader, so that the two
//! check each other.

#![allow(dead_code, reason = "each test uses a part of it")]

/// Tensor types, by the format's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    F32,
    Q4_0,
    Q4_1,
    Q8_0,
}

impl Weights {
    fn id(self) -> u32 {
        match self {
            Weights::F32 => 0,
            Weights::Q4_0 => 2,
            Weights::Q4_1 => 3,
            Weights::Q8_0 => 8,
        }
    }
}

/// A metadata value.
#[derive(Clone, Debug)]
pub enum Value {
    U32(u32),
    U64(u64),
    I32(i32),
    F32(f32),
    Bool(bool),
    Str(String),
    Strs(Vec<String>),
    I32s(Vec<i32>),
    /// A type number and what follows it, as it is.
    Raw(u32, Vec<u8>),
}

/// A tensor's entry and data.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub name: String,
    /// Fastest-running dimension first, as in the file.
    pub dims: Vec<u64>,
    pub kind: u32,
    /// Offset in the data; `None` puts it behind the tensor before.
    pub offset: Option<u64>,
    pub data: Vec<u8>,
}

/// A file to be written. Fields may contradict each other.
#[derive(Clone, Debug)]
pub struct Writer {
    pub magic: [u8; 4],
    pub version: u32,
    /// The count that the header states, where it is not the true one.
    pub n_tensors: Option<u64>,
    /// The count that the header states, where it is not the true one.
    pub n_keys: Option<u64>,
    /// What the data is aligned to.
    pub alignment: usize,
    pub keys: Vec<(String, Value)>,
    pub tensors: Vec<Tensor>,
}

impl Default for Writer {
    fn default() -> Self {
        Self {
            magic: *b"GGUF",
            version: 3,
            n_tensors: None,
            n_keys: None,
            alignment: 32,
            keys: Vec::new(),
            tensors: Vec::new(),
        }
    }
}

fn string(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

impl Writer {
    /// Sets a key, also one that is there.
    pub fn set(&mut self, key: &str, value: Value) -> &mut Self {
        match self.keys.iter_mut().find(|(existing, _)| existing == key) {
            Some((_, existing)) => *existing = value,
            None => self.keys.push((key.to_owned(), value)),
        }
        self
    }

    /// Takes a key away.
    pub fn remove(&mut self, key: &str) -> &mut Self {
        self.keys.retain(|(existing, _)| existing != key);
        self
    }

    /// The tensor called `name`.
    pub fn tensor(&mut self, name: &str) -> &mut Tensor {
        self.tensors
            .iter_mut()
            .find(|tensor| tensor.name == name)
            .expect("a tensor of the file")
    }

    /// The file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = self.magic.to_vec();
        out.extend(self.version.to_le_bytes());
        out.extend(
            self.n_tensors
                .unwrap_or(self.tensors.len() as u64)
                .to_le_bytes(),
        );
        out.extend(self.n_keys.unwrap_or(self.keys.len() as u64).to_le_bytes());
        for (key, value) in &self.keys {
            string(&mut out, key);
            value.write(&mut out);
        }
        let mut data = Vec::new();
        for tensor in &self.tensors {
            string(&mut out, &tensor.name);
            out.extend((tensor.dims.len() as u32).to_le_bytes());
            out.extend(tensor.dims.iter().flat_map(|dim| dim.to_le_bytes()));
            out.extend(tensor.kind.to_le_bytes());
            data.resize(data.len().next_multiple_of(self.alignment), 0);
            out.extend(tensor.offset.unwrap_or(data.len() as u64).to_le_bytes());
            data.extend(&tensor.data);
        }
        if !data.is_empty() {
            out.resize(out.len().next_multiple_of(self.alignment), 0);
        }
        out.extend(data);
        out
    }
}

impl Value {
    fn write(&self, out: &mut Vec<u8>) {
        let mut typed = |kind: u32, bytes: &[u8]| {
            out.extend(kind.to_le_bytes());
            out.extend(bytes);
        };
        match self {
            Value::U32(value) => typed(4, &value.to_le_bytes()),
            Value::U64(value) => typed(10, &value.to_le_bytes()),
            Value::I32(value) => typed(5, &value.to_le_bytes()),
            Value::F32(value) => typed(6, &value.to_le_bytes()),
            Value::Bool(value) => typed(7, &[u8::from(*value)]),
            Value::Raw(kind, bytes) => typed(*kind, bytes),
            Value::Str(text) => {
                typed(8, &[]);
                string(out, text);
            }
            Value::Strs(texts) => {
                typed(9, &8u32.to_le_bytes());
                out.extend((texts.len() as u64).to_le_bytes());
                for text in texts {
                    string(out, text);
                }
            }
            Value::I32s(values) => {
                typed(9, &5u32.to_le_bytes());
                out.extend((values.len() as u64).to_le_bytes());
                out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            }
        }
    }
}

/// The shape of a tiny model.
#[derive(Clone, Copy, Debug)]
pub struct TinyModel {
    /// `llama`, `qwen2` or `qwen3`.
    pub architecture: &'static str,
    pub layers: usize,
    /// A multiple of 32 for quantised weights.
    pub hidden: usize,
    /// A multiple of 32 for quantised weights.
    pub feed_forward: usize,
    pub heads: usize,
    pub kv_heads: usize,
    /// Width of a head, where it is not `hidden / heads`.
    pub head_dim: Option<usize>,
    pub context: usize,
    /// Rows of `output.weight`; `None` for the whole vocabulary.
    pub head_rows: Option<usize>,
    /// Whether the head is the embedding (then there is no `output.weight`).
    pub tied: bool,
    /// What all rotary frequencies are divided by (`rope_freqs.weight`).
    pub rope_factor: Option<f32>,
    /// How matrices are stored. Norms and biases are F32.
    pub weights: Weights,
}

impl Default for TinyModel {
    fn default() -> Self {
        Self {
            architecture: "llama",
            layers: 2,
            hidden: 64,
            feed_forward: 96,
            heads: 4,
            kv_heads: 2,
            head_dim: None,
            context: 512,
            head_rows: None,
            tied: false,
            rope_factor: None,
            weights: Weights::F32,
        }
    }
}

/// The control tokens of a tiny model; their ids are 0, 1 and 2.
pub const CONTROL: [&str; 3] = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
/// Its merges, in order of rank.
pub const MERGES: [&str; 8] = ["Ġ t", "h e", "Ġt he", "i n", "e r", "o n", "u s", "us er"];
/// Its chat template.
pub const CHAT_TEMPLATE: &str = "{% for message in messages %}{{ '<|im_start|>' + message.role + '\n' + message.content \
                                 + '<|im_end|>\n' }}{% endfor %}{% if add_generation_prompt %}{{ \
                                 '<|im_start|>assistant\n' }}{% endif %}";

/// The characters that stand for the bytes 0 to 255.
fn byte_alphabet() -> impl Iterator<Item = String> {
    let mut next = 0x100;
    (0..=255u32).map(move |byte| {
        let code = match byte {
            0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => byte,
            _ => {
                next += 1;
                next - 1
            }
        };
        char::from_u32(code).expect("a character").to_string()
    })
}

/// The tokens of a tiny model: control tokens, bytes, merges.
pub fn tiny_tokens() -> Vec<String> {
    let merged = MERGES.iter().map(|merge| merge.replace(' ', ""));
    CONTROL
        .iter()
        .map(|name| (*name).to_owned())
        .chain(byte_alphabet())
        .chain(merged)
        .collect()
}

/// Sets the tokenizer of a tiny model.
pub fn tiny_tokenizer(file: &mut Writer, pre: &str) {
    let tokens = tiny_tokens();
    let types = (0..tokens.len())
        .map(|id| if id < CONTROL.len() { 3 } else { 1 })
        .collect();
    file.set("tokenizer.ggml.model", Value::Str("gpt2".into()))
        .set("tokenizer.ggml.pre", Value::Str(pre.into()))
        .set("tokenizer.ggml.tokens", Value::Strs(tokens))
        .set("tokenizer.ggml.token_type", Value::I32s(types))
        .set(
            "tokenizer.ggml.merges",
            Value::Strs(MERGES.map(str::to_owned).to_vec()),
        )
        .set("tokenizer.ggml.bos_token_id", Value::U32(1))
        .set("tokenizer.ggml.eos_token_id", Value::U32(2))
        .set("tokenizer.chat_template", Value::Str(CHAT_TEMPLATE.into()));
}

/// A whole model file with random weights: the same for the same arguments.
pub fn tiny_model(seed: u64, options: TinyModel) -> Vec<u8> {
    tiny_model_writer(seed, options).bytes()
}

/// As [`tiny_model`], before it is written: to be changed first.
pub fn tiny_model_writer(seed: u64, options: TinyModel) -> Writer {
    let TinyModel {
        architecture,
        layers,
        hidden,
        feed_forward,
        heads,
        kv_heads,
        ..
    } = options;
    let mut file = Writer::default();
    let head_dim = options.head_dim.unwrap_or(hidden / heads);
    let name = format!("tiny {architecture} {seed}");
    file.set("general.architecture", Value::Str(architecture.into()))
        .set("general.name", Value::Str(name));
    let stated = options.head_dim.map(|size| {
        [
            ("attention.key_length", size),
            ("attention.value_length", size),
        ]
    });
    for (key, value) in [
        ("block_count", layers),
        ("context_length", options.context),
        ("embedding_length", hidden),
        ("feed_forward_length", feed_forward),
        ("attention.head_count", heads),
        ("attention.head_count_kv", kv_heads),
        ("rope.dimension_count", head_dim),
    ]
    .into_iter()
    .chain(stated.into_iter().flatten())
    {
        file.set(&format!("{architecture}.{key}"), Value::U32(value as u32));
    }
    file.set(
        &format!("{architecture}.attention.layer_norm_rms_epsilon"),
        Value::F32(1e-5),
    );
    file.set(
        &format!("{architecture}.rope.freq_base"),
        Value::F32(10_000.0),
    );
    tiny_tokenizer(
        &mut file,
        match architecture {
            "qwen2" | "qwen3" => "qwen2",
            _ => "smollm",
        },
    );

    let vocab = tiny_tokens().len();
    let mut tensors = Tensors {
        random: &mut Random(seed),
        weights: options.weights,
        list: &mut file.tensors,
    };
    tensors.matrix("token_embd.weight", vocab, hidden);
    for layer in 0..layers {
        let name = |part: &str| format!("blk.{layer}.{part}");
        tensors.vector(&name("attn_norm.weight"), hidden, 1.0);
        for (part, rows) in [
            ("q", heads * head_dim),
            ("k", kv_heads * head_dim),
            ("v", kv_heads * head_dim),
        ] {
            tensors.matrix(&name(&format!("attn_{part}.weight")), rows, hidden);
            if architecture == "qwen2" {
                tensors.vector(&name(&format!("attn_{part}.bias")), rows, 0.0);
            }
            if architecture == "qwen3" && part != "v" {
                tensors.vector(&name(&format!("attn_{part}_norm.weight")), head_dim, 1.0);
            }
        }
        tensors.matrix(&name("attn_output.weight"), hidden, heads * head_dim);
        tensors.vector(&name("ffn_norm.weight"), hidden, 1.0);
        tensors.matrix(&name("ffn_gate.weight"), feed_forward, hidden);
        tensors.matrix(&name("ffn_up.weight"), feed_forward, hidden);
        tensors.matrix(&name("ffn_down.weight"), hidden, feed_forward);
    }
    tensors.vector("output_norm.weight", hidden, 1.0);
    if !options.tied {
        tensors.matrix("output.weight", options.head_rows.unwrap_or(vocab), hidden);
    }
    if let Some(factor) = options.rope_factor {
        let data = factor.to_le_bytes().repeat(head_dim / 2);
        let dims = vec![head_dim as u64 / 2];
        tensors.push("rope_freqs.weight", dims, Weights::F32, data);
    }
    file
}

struct Tensors<'a> {
    random: &'a mut Random,
    weights: Weights,
    list: &'a mut Vec<Tensor>,
}

impl Tensors<'_> {
    /// A vector around `mean`.
    fn vector(&mut self, name: &str, len: usize, mean: f32) {
        let data = (0..len)
            .flat_map(|_| (mean + 0.2 * self.random.uniform()).to_le_bytes())
            .collect();
        self.push(name, vec![len as u64], Weights::F32, data);
    }

    /// A matrix of uniform weights whose product with a unit vector is about as long.
    fn matrix(&mut self, name: &str, rows: usize, columns: usize) {
        let scale = (3.0 / columns as f32).sqrt();
        let n = rows * columns;
        let mut data = Vec::new();
        match self.weights {
            Weights::F32 => {
                (0..n).for_each(|_| data.extend((scale * self.random.uniform()).to_le_bytes()));
            }
            Weights::Q8_0 => self.blocks(&mut data, n / 32, &[scale / 128.0], 32),
            Weights::Q4_0 => self.blocks(&mut data, n / 32, &[scale / 8.0], 16),
            Weights::Q4_1 => self.blocks(&mut data, n / 32, &[scale / 7.5, -scale], 16),
        }
        self.push(name, vec![columns as u64, rows as u64], self.weights, data);
    }

    /// Blocks of 16-bit numbers and random bytes.
    fn blocks(&mut self, data: &mut Vec<u8>, n_blocks: usize, halves: &[f32], n_bytes: usize) {
        for _ in 0..n_blocks {
            data.extend(halves.iter().flat_map(|half| f16_bits(*half).to_le_bytes()));
            data.extend((0..n_bytes).map(|_| self.random.next() as u8));
        }
    }

    fn push(&mut self, name: &str, dims: Vec<u64>, weights: Weights, data: Vec<u8>) {
        self.list.push(Tensor {
            name: name.to_owned(),
            dims,
            kind: weights.id(),
            offset: None,
            data,
        });
    }
}

/// The nearest 16-bit float towards zero, for numbers in its normal range.
fn f16_bits(value: f32) -> u16 {
    assert!(
        (6.2e-5..6.5e4).contains(&value.abs()),
        "{value} is a normal 16-bit float"
    );
    let sign = if value < 0.0 { 0x8000 } else { 0 };
    sign | ((value.abs().to_bits() >> 13) - (112 << 10)) as u16
}

/// `SplitMix64` (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From -1 to 1.
    fn uniform(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}
