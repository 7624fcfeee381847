/// A question and its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Interaction {
    /// The caller.
    pub owner: String,
    /// The id of the answer, unique for the owner.
    pub id: String,
    /// The index whose chunks were in the prompt.
    pub index_name: String,
    /// The embedding model of the vector.
    pub fingerprint: String,
    /// The question's normalised vector.
    pub vector: Vec<f32>,
    /// The question.
    pub user_input: String,
    /// The answer.
    pub ai_response: String,
    /// The provider and the model that answered, such as `local/qwen3-8b`.
    pub ai_provider: String,
    /// The category of the question.
    pub task_category: String,
    /// The chunks in the prompt.
    pub node_ids: Vec<String>,
    /// When the answer was given, in milliseconds since 1970.
    pub created_at_ms: i64,
}

/// An interaction whose question is similar to a question.
#[derive(Debug, Clone, PartialEq)]
pub struct Similar {
    /// The id of the answer.
    pub id: String,
    /// The cosine of the questions' vectors, at most 1.
    pub similarity: f32,
    /// The question.
    pub user_input: String,
    /// The answer.
    pub ai_response: String,
    /// The provider and the model that answered.
    pub ai_provider: String,
    /// The category of the question.
    pub task_category: String,
    /// The chunks in the prompt.
    pub node_ids: Vec<String>,
    /// When the answer was given, in milliseconds since 1970.
    pub created_at_ms: i64,
}
