"""Models of keras.applications, haiku and transformers (Flax) that models.py exports, with small inputs and random weights.

KINDS[name]() returns (function, weights, state, inputs), where function(weights, state, *inputs) is the model without dropout, with the
statistics of its normalisations in `state`. Those whose name ends with ", training" are a training step of a model: a loss, its gradients
and one step of SGD, which leaves the state as it is.
"""
import functools
import os

os.environ['KERAS_BACKEND'] = 'jax'

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

RATE = 0.1  # of SGD


def normal(*shape):
  return np.random.default_rng(1).standard_normal(shape, np.float32)


def tokens(words, *shape):
  return np.random.default_rng(2).integers(3, words, shape, np.int32)


def without_zeros(weights):
  """Weights that start as equal numbers get small differences, so that a gradient that is zero but for rounding is seen in no result."""
  def changed(x):
    x = np.asarray(x)
    return x + np.float32(0.02) * normal(*x.shape) if x.size and np.all(x == x.flat[0]) else x

  return jax.tree.map(changed, weights)


def stepped(program):
  """The training step of a model: the loss is the mean square of its results, minus one; the results are the loss and the new weights."""
  f, weights, state, inputs = program

  def loss(weights, state, *inputs):
    results = jax.tree.leaves(f(weights, state, *inputs))
    return sum(jnp.mean(jnp.square(x - 1)) for x in results if jnp.issubdtype(x.dtype, jnp.floating))

  def step(weights, state, *inputs):
    value, gradients = jax.value_and_grad(loss)(weights, state, *inputs)
    return value, jax.tree.map(lambda w, g: w - RATE * g, weights, gradients)

  return step, without_zeros(weights), state, inputs


# keras.applications.


def of_keras(name, batch=2, size=64, **settings):
  import keras

  keras.utils.set_random_seed(0)
  model = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classifier_activation=None, **settings)
  trained = [np.asarray(v.value) for v in model.trainable_variables]
  others = [np.asarray(v.value) for v in model.non_trainable_variables]

  def f(weights, state, images):
    return model.stateless_call(weights, state, images, training=False)[0]

  return f, trained, others, (normal(batch, size, size, 3),)


KERAS = {
    'MobileNetV3Small': {}, 'MobileNetV2': {'alpha': 0.35}, 'InceptionV3': {'batch': 1, 'size': 96}, 'ResNet50V2': {},
    'EfficientNetB0': {}, 'ConvNeXtTiny': {}, 'DenseNet121': {}, 'MobileNet': {}, 'MobileNetV3Large': {},
    'Xception': {'size': 96}, 'ResNet50': {}, 'ResNet101': {}, 'EfficientNetV2B0': {}, 'EfficientNetB2': {},
    'NASNetMobile': {}, 'VGG16': {}, 'InceptionResNetV2': {'batch': 1, 'size': 96}, 'DenseNet169': {},
}


# haiku.


def of_haiku(make, *inputs):
  """make(is_training, *inputs) is a network of haiku with a state, such as that of batch normalisation, which begins in training."""
  import haiku

  network = haiku.without_apply_rng(haiku.transform_with_state(make))
  weights, state = network.init(jax.random.PRNGKey(0), True, *inputs)
  return (lambda weights, state, *inputs: network.apply(weights, state, False, *inputs)[0]), weights, state, inputs


def haiku_image_network(name, size, **settings):
  import haiku

  return of_haiku(lambda is_training, x: getattr(haiku.nets, name)(num_classes=1000, **settings)(x, is_training), normal(2, size, size, 3))


def haiku_mlp():
  import haiku

  return of_haiku(lambda _, x: haiku.nets.MLP([512, 512, 10], activation=jnp.tanh)(x), normal(256, 784))


def haiku_core(name, features=128, time=32, batch=8):
  """A recurrent core over a sequence, (time, batch, features)."""
  import haiku

  def make(_, x):
    core = getattr(haiku, name)(features)
    return haiku.dynamic_unroll(core, x, core.initial_state(x.shape[1]))[0]

  return of_haiku(make, normal(time, batch, features))


def haiku_attention():
  import haiku

  def make(_, x):
    start = haiku.initializers.VarianceScaling(1.0)
    for _ in range(2):
      y = haiku.LayerNorm(-1, True, True)(x)
      x = x + haiku.MultiHeadAttention(4, 32, w_init=start, model_size=128)(y, y, y)
      x = x + haiku.nets.MLP([512, 128])(haiku.LayerNorm(-1, True, True)(x))
    return x

  return of_haiku(make, normal(4, 64, 128))


HAIKU = {
    'ResNet18, 2 x 32 x 32': lambda: haiku_image_network('ResNet18', 32),
    'ResNet50 v2, 2 x 64 x 64': lambda: haiku_image_network('ResNet50', 64, resnet_v2=True),
    'MobileNetV1, 2 x 64 x 64': lambda: haiku_image_network('MobileNetV1', 64),
    'MLP 784-512-512-10, tanh, 256': haiku_mlp,
    'LSTM of 128, 32 steps': lambda: haiku_core('LSTM'),
    'GRU of 128, 32 steps': lambda: haiku_core('GRU'),
    'transformer, 2 layers of 128': haiku_attention,
}


# transformers.

# Sizes of small configurations; a model takes those that its configuration knows by these names.
SMALL = {'vocab_size': 1000, 'hidden_size': 128, 'num_hidden_layers': 2, 'num_attention_heads': 4, 'intermediate_size': 512}
SMALL_SEQUENCES = {'vocab_size': 1000, 'd_model': 128, 'encoder_layers': 2, 'decoder_layers': 2, 'encoder_attention_heads': 4,
                   'decoder_attention_heads': 4, 'encoder_ffn_dim': 512, 'decoder_ffn_dim': 512, 'max_position_embeddings': 128}
SMALL_T5 = {'vocab_size': 1000, 'd_model': 128, 'd_kv': 32, 'd_ff': 512, 'num_layers': 2, 'num_heads': 4}
SMALL_LLAMA = {**SMALL, 'num_key_value_heads': 2, 'max_position_embeddings': 128}
SMALL_IMAGES = {**{k: v for k, v in SMALL.items() if k != 'vocab_size'}, 'image_size': 64, 'patch_size': 8}


def results_of(output):
  """The first result of a model of transformers, or both embeddings of one that has two inputs."""
  return (output.text_embeds, output.image_embeds) if 'text_embeds' in output else output[0]


def clip_as_before(x, *bounds, a_min=None, a_max=None, clip=jnp.clip, **named):
  """jax.numpy.clip with the arguments that it no longer has and that T5 gives it."""
  return clip(x, *bounds, **{k: v for k, v in (('min', a_min), ('max', a_max)) if v is not None}, **named)


def of_transformers(model_name, config_name, sizes, inputs, names=None, **settings):
  """`inputs` are arrays; `names` are those of arguments that are given by name."""
  import transformers

  jnp.clip = clip_as_before
  config = getattr(transformers, config_name)(**sizes)
  model = getattr(transformers, model_name)(config, seed=0, **settings)
  weights, state = model.params, {}
  if 'batch_stats' in weights:
    weights, state = model.params['params'], {'batch_stats': model.params['batch_stats']}

  def f(weights, state, *inputs):
    params = {'params': weights, **state} if state else weights
    if names:
      return results_of(model(**dict(zip(names, inputs, strict=True)), params=params))
    return results_of(model(*inputs, params=params))

  return f, weights, state, inputs


TEXT = functools.partial(tokens, 1000)
PAIR = ['input_ids', 'decoder_input_ids']


def text_model(name, sizes=SMALL, shape=(2, 64), end='Model', **settings):
  return lambda: of_transformers(f'Flax{name}{end}', f'{name}Config', sizes, (TEXT(*shape),), **settings)


def pair_model(name, sizes=SMALL_SEQUENCES, **settings):
  return lambda: of_transformers(f'Flax{name}Model', f'{name}Config', sizes, (TEXT(2, 32), TEXT(2, 16)), PAIR, **settings)


def image_model(name, sizes, size=64, batch=2, end='Model', **settings):
  return lambda: of_transformers(f'Flax{name}{end}', f'{name}Config', sizes, (normal(batch, 3, size, size),), **settings)


def clip():
  sizes = {'text_config': {**SMALL, 'max_position_embeddings': 32, 'eos_token_id': 2}, 'vision_config': SMALL_IMAGES, 'projection_dim': 64}
  return of_transformers('FlaxCLIPModel', 'CLIPConfig', sizes, (TEXT(2, 16), normal(2, 3, 64, 64)), ['input_ids', 'pixel_values'],
                         input_shape=((1, 16), (1, 64, 64, 3)))


def whisper():
  sizes = {**SMALL_SEQUENCES, 'num_mel_bins': 40, 'max_source_positions': 100, 'max_target_positions': 64, 'pad_token_id': 0,
           'bos_token_id': 1, 'eos_token_id': 2, 'decoder_start_token_id': 1}
  return of_transformers('FlaxWhisperModel', 'WhisperConfig', sizes, (normal(2, 40, 200), TEXT(2, 16)),
                         ['input_features', 'decoder_input_ids'], input_shape=(1, 40, 200))


def wav2vec2():
  sizes = {**SMALL, 'conv_dim': (64, 64, 64), 'conv_stride': (5, 4, 4), 'conv_kernel': (10, 8, 4), 'num_feat_extract_layers': 3,
           'num_conv_pos_embeddings': 16, 'num_conv_pos_embedding_groups': 4, 'do_stable_layer_norm': True,
           'feat_extract_norm': 'layer', 'mask_time_prob': 0.0, 'vocab_size': 32}
  return of_transformers('FlaxWav2Vec2Model', 'Wav2Vec2Config', sizes, (normal(2, 8000),), input_shape=(1, 8000))


GPT = {'vocab_size': 1000, 'n_positions': 128, 'n_embd': 128, 'n_layer': 2, 'n_head': 4}
RESNET = {'embedding_size': 32, 'hidden_sizes': [32, 64, 128, 256], 'depths': [2, 2, 2, 2], 'layer_type': 'basic'}

TRANSFORMERS = {
    'ResNet, small, 2 x 64 x 64': image_model('ResNet', RESNET, input_shape=(1, 64, 64, 3)),
    'BigBird, small': text_model('BigBird', {**SMALL, 'attention_type': 'block_sparse', 'block_size': 8, 'num_random_blocks': 2,
                                             'max_position_embeddings': 256}, (1, 128)),
    'BART, small': pair_model('Bart'),
    'Llama, 8 layers of 512, 2 x 128 tokens': text_model('Llama', {
        'vocab_size': 32000, 'hidden_size': 512, 'intermediate_size': 1376, 'num_hidden_layers': 8, 'num_attention_heads': 8,
        'max_position_embeddings': 256}, (2, 128), 'ForCausalLM'),
    'GPT-2, 6 layers of 384, 4 x 128 tokens': text_model('GPT2', {
        'vocab_size': 50257, 'n_positions': 128, 'n_embd': 384, 'n_layer': 6, 'n_head': 6}, (4, 128), 'LMHeadModel'),
    'GPT-J, small': text_model('GPTJ', {**GPT, 'rotary_dim': 16}),
    'BERT, small': text_model('Bert'),
    'RoBERTa, small': text_model('Roberta'),
    'RoBERTa with norms first, small': text_model('RobertaPreLayerNorm'),
    'XLM-RoBERTa, small': text_model('XLMRoberta'),
    'ALBERT, small': text_model('Albert', {**SMALL, 'embedding_size': 64}),
    'DistilBERT, small': text_model('DistilBert', {'vocab_size': 1000, 'dim': 128, 'hidden_dim': 512, 'n_layers': 2, 'n_heads': 4}),
    'ELECTRA, small': text_model('Electra', {**SMALL, 'embedding_size': 64}),
    'RoFormer, small': text_model('RoFormer'),
    'GPT-2, small': text_model('GPT2', GPT),
    'GPT-Neo, small': text_model('GPTNeo', {'vocab_size': 1000, 'hidden_size': 128, 'num_layers': 2, 'num_heads': 4, 'window_size': 32,
                                            'attention_types': [[['global', 'local'], 1]], 'max_position_embeddings': 128}),
    'OPT, small': text_model('OPT', {'vocab_size': 1000, 'hidden_size': 128, 'num_hidden_layers': 2, 'num_attention_heads': 4,
                                     'ffn_dim': 512, 'max_position_embeddings': 128, 'word_embed_proj_dim': 128}),
    'BLOOM, small': text_model('Bloom', {'vocab_size': 1000, 'hidden_size': 128, 'n_layer': 2, 'n_head': 4}),
    'XGLM, small': text_model('XGLM', {'vocab_size': 1000, 'd_model': 128, 'ffn_dim': 512, 'num_layers': 2, 'attention_heads': 4,
                                       'max_position_embeddings': 128}),
    'Llama, small': text_model('Llama', SMALL_LLAMA),
    'Mistral, small': text_model('Mistral', {**SMALL_LLAMA, 'sliding_window': 32}),
    'Gemma, small': text_model('Gemma', {**SMALL_LLAMA, 'head_dim': 32}),
    'T5, small': pair_model('T5', SMALL_T5),
    'MT5, small': pair_model('MT5', {**SMALL_T5, 'feed_forward_proj': 'gated-gelu'}),
    'LongT5, small': pair_model('LongT5', {**SMALL_T5, 'local_radius': 7}),
    'mBART, small': pair_model('MBart'),
    'Marian, small': pair_model('Marian', {**SMALL_SEQUENCES, 'pad_token_id': 0, 'decoder_start_token_id': 1}),
    'Pegasus, small': pair_model('Pegasus'),
    'Blenderbot, small': pair_model('Blenderbot'),
    'ViT, small, 2 x 64 x 64': image_model('ViT', SMALL_IMAGES, input_shape=(1, 64, 64, 3)),
    'BEiT, small, 2 x 64 x 64': image_model('Beit', {**SMALL_IMAGES, 'use_relative_position_bias': True}, input_shape=(1, 64, 64, 3)),
    'DINOv2, small, 2 x 64 x 64': image_model('Dinov2', SMALL_IMAGES, input_shape=(1, 64, 64, 3)),
    'RegNet, small, 2 x 64 x 64': image_model('RegNet', {'embedding_size': 32, 'hidden_sizes': [32, 64, 128, 256], 'depths': [1, 2, 2, 1],
                                                         'groups_width': 16}, input_shape=(1, 64, 64, 3)),
    'CLIP, small': clip,
    'Whisper, small': whisper,
    'Wav2Vec2, small': wav2vec2,
}

KINDS = {
    **{f'keras {name}{", alpha .35" if "alpha" in a else ""}, {a.get("batch", 2)} x {a.get("size", 64)} x {a.get("size", 64)}':
       functools.partial(of_keras, name, **a) for name, a in KERAS.items()},
    **{f'haiku {name}': make for name, make in HAIKU.items()},
    **{f'transformers {name}': make for name, make in TRANSFORMERS.items()},
}

TRAINED = ['keras MobileNet, 2 x 64 x 64', 'keras ResNet50V2, 2 x 64 x 64', 'keras DenseNet121, 2 x 64 x 64', 'haiku ResNet18, 2 x 32 x 32',
           'haiku MLP 784-512-512-10, tanh, 256', 'haiku LSTM of 128, 32 steps', 'transformers BERT, small', 'transformers GPT-2, small',
           'transformers Llama, small', 'transformers T5, small', 'transformers ViT, small, 2 x 64 x 64']
KINDS |= {f'{name}, training': functools.partial(lambda make: stepped(make()), KINDS[name]) for name in TRAINED}
